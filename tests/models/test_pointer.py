"""Pointer networks: every line has its own choices, and search keeps to its rules."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch

from regard.data.batch import EOS, UNKNOWN, Batch, Padded, Row
from regard.errors import UsageError
from regard.models.base import EncoderDecoder
from regard.models.pointer import PointerConfig
from regard.nn.probe import capture
from regard.search.beam import Beam


def source(*sizes: int) -> Padded:
    """Random points, so many per line."""
    draw = np.random.default_rng(1)
    rows = [draw.random((size, 2), dtype=np.float32) for size in sizes]
    return Padded.of_rows([Row([4] * len(row), {"numbers": row}) for row in rows])


@pytest.fixture
def model() -> EncoderDecoder:
    torch.manual_seed(2)
    return PointerConfig(width=16, heads=2, inner=24).build(5, 1 << 16).eval()


@torch.no_grad()
def test_no_line_can_point_beyond_its_own_words(model: EncoderDecoder) -> None:
    target = Padded.of_rows([Row([4]), Row([4])])
    choices = model.choices(Batch(source(2, 5), target))
    assert choices.shape == (2, 2, UNKNOWN + 1 + 5)
    possible = choices > -torch.inf
    assert possible[0, 0].nonzero()[:, 0].tolist() == [EOS, 4, 5]
    assert possible[1, 0].nonzero()[:, 0].tolist() == [EOS, 4, 5, 6, 7, 8]


@torch.no_grad()
def test_a_wide_beam_equals_exhaustive_search_over_permutations(model: EncoderDecoder) -> None:
    points = source(4)
    orders = list(permutations(range(4, 8)))
    rows = Padded.of([[*order, EOS] for order in orders])
    repeated = Padded(
        points.values.expand(len(orders), -1),
        points.lengths.expand(len(orders)),
        {"numbers": points.annotations["numbers"].expand(len(orders), -1, -1)},
    )
    logs = model.log_probabilities(Batch(repeated, rows)).sum(dim=1).tolist()
    ranked = sorted(zip(logs, orders, strict=True), reverse=True)
    search = Beam(beam=24, best=24, visits="all", length_penalty=0.0)
    found = model.generate(points, search)[0]
    assert [each.tokens for each in found] == [order for _, order in ranked]
    assert [each.log_probability for each in found] == pytest.approx(
        [log for log, _ in ranked], abs=1e-4
    )


@torch.no_grad()
def test_what_is_captured_is_the_distribution(model: EncoderDecoder) -> None:
    batch = Batch(source(3), Padded.of_rows([Row([5, 4])]))
    with capture(model) as weights:
        choices = model.choices(batch).exp()
    (pointed,) = weights["output.pointer"]  # (1, 1, T, S): three words and EOS
    torch.testing.assert_close(pointed[0, 0], choices[0][:, [4, 5, 6, EOS]])


@torch.no_grad()
def test_lines_may_be_much_longer_than_any_before(model: EncoderDecoder) -> None:
    (found,) = model.generate(source(300), Beam(beam=1, visits="all"))
    assert sorted(found[0].tokens) == list(range(4, 304))
    assert model.length_limit is None


def test_a_shortlist_is_refused(model: EncoderDecoder) -> None:
    with pytest.raises(UsageError, match="shortlist"):
        model.narrowed(torch.arange(6))
