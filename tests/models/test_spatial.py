"""Reading pictures beyond the contract: where a patch is seen, and what is left of the picture."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from regard.config import check
from regard.data.batch import Padded, Row
from regard.errors import UsageError
from regard.models.spatial import SpatialConfig
from regard.nn.captured import watch
from regard.nn.probe import watched

SMALL = SpatialConfig(width=16, height=8, patch=2, dropout=0.0)
COLUMNS = 12


def blank(columns: int) -> Padded:
    (kind,) = SMALL.annotations
    patches = columns * SMALL.rows
    values = kind.example([5] * patches) * 0 + 255
    return Padded.of_rows([Row([4] * patches, {kind.name: values})])


def with_pixel(source: Padded, position: int) -> Padded:
    pixels = source.annotations["pixels"].clone()
    pixels[0, position, 0] = 0
    return replace(source, annotations={"pixels": pixels})


@torch.no_grad()
@pytest.mark.parametrize(("row", "column"), [(0, 0), (1, 5), (3, 11), (2, 8)])
def test_a_pixel_is_seen_where_it_is(row: int, column: int) -> None:
    """It changes the patches near it, in both directions, and the summary; no others."""
    torch.manual_seed(1)
    encoder = SMALL.build(5, 9).encoder.eval()
    source = blank(COLUMNS)
    other = with_pixel(source, column * SMALL.rows + row)
    change = (encoder(source).output - encoder(other).output).abs().amax(dim=-1)[0]
    assert change[-1] > 0  # the summary is at the position of EOS
    changed = [divmod(int(index), SMALL.rows) for index in change[:-1].nonzero()[:, 0]]
    assert (column, row) in changed
    assert all(abs(c - column) <= 2 and abs(r - row) <= 2 for c, r in changed)


@torch.no_grad()
def test_equal_patches_differ_by_where_they_are() -> None:
    torch.manual_seed(1)
    seen = SMALL.build(5, 9).encoder.eval()(blank(COLUMNS)).output[0, :-1]
    inner = seen.view(COLUMNS, SMALL.rows, -1)[4:8]
    distances = torch.cdist(inner.flatten(0, 1), inner.flatten(0, 1))
    assert distances[~torch.eye(len(distances), dtype=torch.bool)].min() > 0.1


@torch.no_grad()
def test_a_picture_that_was_truncated_within_a_column_can_be_read() -> None:
    torch.manual_seed(1)
    model = SMALL.build(5, 9).eval()
    (kind,) = SMALL.annotations
    whole = Row([4] * 12, {kind.name: kind.example(range(12))})
    part = model.encoder(Padded.of_rows([whole.truncated(6)])).output
    assert part.shape[1] == 7
    assert bool(part.isfinite().all())


def test_attention_is_from_the_target_to_the_patches() -> None:
    batch = SMALL.example(rows=2, seed=1)
    model = SMALL.build(23, 19).eval()
    _, captured = watch(model, model.log_probabilities, batch)
    ((layer,),) = captured.values()
    assert list(captured) == [("target", "source")]
    assert layer.shape == (2, 1, batch.target.values.shape[1], batch.source.values.shape[1])
    assert not watched(SMALL.changed(attention="none").build(23, 19))


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="height must be a multiple of patch, which is 4"):
        check(SpatialConfig, {"kind": "spatial", "height": 18})
    with pytest.raises(UsageError, match="multiple of 8"):
        check(SpatialConfig, {"kind": "spatial", "width": 20})
