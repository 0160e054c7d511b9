"""Positions: what each kind knows of order, and where its knowledge ends."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.config import check
from regard.data.batch import Padded
from regard.errors import RegardError
from regard.models.base import EncoderDecoder
from regard.models.transformer import TransformerConfig
from regard.nn.mixers import MixerSizes
from regard.nn.position import Alibi, PositionKind, Rotary, Shaw, input_position

SIZE = 30


def build(position: PositionKind, *mixers: Any) -> EncoderDecoder:
    torch.manual_seed(0)
    config = TransformerConfig(
        layers=2,
        width=16,
        inner=24,
        heads=2,
        position=position,
        max_distance=3,
        max_length=12,
        mixers=mixers or ("full",),
        mixing=MixerSizes(neighbourhood=3),
    )
    return config.build(SIZE, SIZE).eval()


@torch.no_grad()
def encode(model: EncoderDecoder, row: list[int]) -> Tensor:
    return model.encoder(Padded.of([row])).output[0]


ROW = [7, 4, 9, 21, 13, 5, 8, 25]
ORDER = [3, 0, 7, 1, 6, 2, 5, 4]


@pytest.mark.parametrize("mixer", ["full", "linear"])
def test_without_positions_attention_has_no_order(mixer: str) -> None:
    """What comes out for a token does not depend on where any of them stand."""
    model = build("none", mixer)
    turned = encode(model, [ROW[place] for place in ORDER])
    torch.testing.assert_close(turned, encode(model, ROW)[ORDER], rtol=1e-5, atol=1e-5)


SEEN = ["sinusoidal", "learned", "index", "concatenated", "rotary", "shaw", "alibi"]


@pytest.mark.parametrize("position", SEEN)
def test_with_positions_it_has(position: PositionKind) -> None:
    model = build(position)
    turned = encode(model, [ROW[place] for place in ORDER])
    assert not torch.allclose(turned, encode(model, ROW)[ORDER], atol=1e-2)


def test_learned_positions_end() -> None:
    model = build("learned")
    assert model.length_limit == 12
    encode(model, [5] * 12)
    with pytest.raises(RegardError, match=r"13 pieces is longer than the 12 positions"):
        encode(model, [5] * 13)


@torch.no_grad()
@pytest.mark.parametrize("position", ["rotary", "shaw", "alibi"])
def test_shifting_the_whole_changes_nothing(position: PositionKind) -> None:
    """Words that a window does not reach from the rest only move it."""
    model = build(position, "window")
    shifted = encode(model, [11, 12, 13, 14, 15, *ROW])
    torch.testing.assert_close(shifted[7:], encode(model, ROW)[2:], rtol=1e-4, atol=1e-5)
    moved = build("sinusoidal", "window")
    assert not torch.allclose(
        encode(moved, [11, 12, 13, 14, 15, *ROW])[7:], encode(moved, ROW)[2:], atol=1e-2
    )


def test_shaw_equals_a_loop_over_pairs() -> None:
    torch.manual_seed(0)
    shaw, query, weights = Shaw(4, 2), torch.randn(2, 3, 5, 4), torch.rand(2, 3, 5, 5)
    distance = torch.arange(5) - torch.arange(5)[:, None]
    bias, mean = shaw.bias(query, distance), shaw.mean(weights, distance)
    for i in range(5):
        expected = torch.zeros(2, 3, 4)
        for j in range(5):
            clipped = max(-2, min(2, j - i)) + 2
            torch.testing.assert_close(bias[:, :, i, j], query[:, :, i] @ shaw.keys[clipped])
            expected = expected + weights[:, :, i, j, None] * shaw.values[clipped]
        torch.testing.assert_close(mean[:, :, i], expected)


def test_the_slopes_of_alibi_are_those_of_the_paper() -> None:
    assert Alibi(8).slopes.flatten().tolist() == [2.0**-h for h in range(1, 9)]
    sixteen = Alibi(16).slopes.flatten().tolist()
    assert sixteen == pytest.approx([2.0 ** (-h / 2) for h in range(1, 17)])
    bias = Alibi(8).bias(torch.zeros(1, 8, 1, 4), torch.tensor([[-2, -1, 0, 1]]))
    assert bias[0, 0].tolist() == [-1.0, -0.5, 0.0, -0.5]  # both directions alike


def test_rotary_products_depend_on_distance() -> None:
    torch.manual_seed(0)
    rotary, x = Rotary(8), torch.randn(1, 1, 1, 8)
    turned = rotary.rotate(x.expand(1, 1, 600, 8), 0)[0, 0]  # past the first table
    products = turned @ turned.t()
    torch.testing.assert_close(products[0, 5], products[590, 595], rtol=1e-3, atol=1e-3)


def test_only_some_kinds_are_added() -> None:
    x = torch.randn(1, 3, 16)
    for kind in ("rotary", "shaw", "alibi", "none"):
        assert torch.equal(input_position(kind, 16, 9).add(x, 0), x)
    for kind in ("sinusoidal", "learned", "index", "concatenated"):
        assert not torch.equal(input_position(kind, 16, 9).add(x, 0), x)


def test_the_plain_index_grows_along_one_direction() -> None:
    position = input_position("index", 16, 9)
    (added,) = position.add(torch.zeros(1, 40, 16), 3)
    torch.testing.assert_close(added, torch.arange(3.0, 43.0)[:, None] * added[7] / 10)
    assert added.abs().sum()


def test_concatenated_positions_are_sinusoids_beside_the_words() -> None:
    x = torch.randn(2, 5, 16)
    placed = input_position("concatenated", 16, 9).add(x, 4)
    assert torch.equal(placed[..., :8], x[..., :8])
    sinusoids = input_position("sinusoidal", 8, 9).add(torch.zeros(2, 5, 8), 4)
    assert torch.equal(placed[..., 8:], sinusoids)


def test_concatenated_positions_need_whole_pairs_of_columns() -> None:
    with pytest.raises(ValueError, match="a width that is a multiple of 4"):
        TransformerConfig(width=18, heads=2, position="concatenated")


def test_a_config_of_before_there_were_mixers_loads() -> None:
    """As a run of the first version kept it: the same model, tensor by tensor."""
    saved = {
        "kind": "transformer",
        "layers": 2,
        "decoder_layers": None,
        "width": 16,
        "inner": 24,
        "heads": 2,
        "norm": "post",
        "position": "learned",
        "max_length": 40,
        "tying": "all",
        "scale_embeddings": True,
        "dropout": 0.1,
        "smoothing": 0.1,
    }
    config = check(TransformerConfig, saved)
    assert config.mixers == config.decoder_mixers == ("full",)
    assert config.normalisation == "layer"
    names = dict(config.build(SIZE, SIZE).named_parameters())
    for name in (
        "encoder.embedding.position.table",
        "encoder.layers.1.attention.project.weight",
        "encoder.layers.1.attention_residual.norm.weight",
        "decoder.layers.0.source_attention.query.weight",
        "decoder.layers.0.source_residual.norm.bias",
        "decoder.layers.0.feed_forward.expand.weight",
    ):
        assert name in names
    assert len(names) == 3 + 2 * 12 + 2 * 20
