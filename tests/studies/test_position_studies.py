"""The studies of positions respond to what they measure."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from regard.data.batch import Padded
from regard.models.transformer import TransformerConfig, TransformerEncoder
from regard.nn.probe import capture
from regard.studies import adding_positions, position_residual, positions

IDS = [[4, 9, 5, 7, 12, 6], [8, 4, 11, 5, 10, 7]]


def encoder(residual: bool = True) -> TransformerEncoder:
    torch.manual_seed(1)
    config = TransformerConfig(
        layers=2, width=16, inner=24, heads=2, dropout=0, norm="pre", residual=residual
    )
    return cast(TransformerEncoder, config.build(20, 20).eval().encoder)


def test_an_offset_is_a_linear_map_of_sinusoids_but_not_of_random_vectors() -> None:
    table = positions.sinusoids(32, 200)
    assert positions.map_error(table, 7) < 1e-5
    torch.manual_seed(1)
    assert positions.map_error(torch.randn(200, 32), 7) > 0.5
    assert positions.similarity(table, 1) > positions.similarity(table, 32)


def test_in_long_lines_only_positions_past_the_trained_length_count() -> None:
    line = list("abcdefgh" * 3)
    right = positions.tags(line)
    past = ["x"] * positions.LONGEST + right[positions.LONGEST :]
    assert positions.right([" ".join(past)], [line]) == 100
    short = line[:4]
    assert positions.right(["none a b x"], [short]) == 75


def test_the_overlap_is_0_if_orthogonal_and_1_by_chance() -> None:
    torch.manual_seed(1)
    first, second, every = torch.randn(500, 32), torch.randn(500, 32), torch.randn(500, 32)
    first[:, 16:] = 0
    second[:, :16] = 0
    assert adding_positions.overlap(first, second) == pytest.approx(0, abs=1e-6)
    assert adding_positions.overlap(first, every) == pytest.approx(1, abs=0.1)
    assert adding_positions.overlap(first, first) > 1.8
    assert adding_positions.dimensions(first) < 17 < 28 < adding_positions.dimensions(every)


@torch.inference_mode()
def test_the_four_terms_and_the_bias_are_the_scores_of_the_model() -> None:
    model = encoder()
    for parameter in model.parameters():  # no bias and no scale of a norm is trivial
        parameter.add_(0.1 * torch.randn_like(parameter))
    with capture(model) as captured:
        model(Padded.of(IDS[:1]))
    terms = adding_positions.scores(model, IDS[0])
    weights = torch.stack(list(terms.values())).sum(dim=0).softmax(dim=-1)
    assert torch.allclose(weights, next(iter(captured.values()))[0][0], atol=1e-5)


def test_the_probe_finds_positions_where_there_are_any() -> None:
    torch.manual_seed(1)
    noise = torch.randn(100, 8, 16)
    placed = noise + 5 * torch.eye(8, 16)
    assert position_residual.probe(placed) > 95
    assert position_residual.probe(noise) < 25


def test_without_a_residual_connection_nothing_enters_by_it() -> None:
    model = encoder(residual=False)
    found = {p: position_residual.states(model, IDS, p)[1] for p in position_residual.PATHS}
    assert torch.allclose(found["both"], found["attention"])
    assert torch.allclose(found["residual"], found["neither"])
    assert not torch.allclose(found["both"], found["neither"])


@torch.inference_mode()
def test_both_paths_together_are_the_encoder() -> None:
    model = encoder()
    last = position_residual.states(model, IDS, "both")[-1]
    assert torch.allclose(model.norm(last), model(Padded.of(IDS)).output, atol=1e-6)
