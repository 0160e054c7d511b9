"""Score functions against their formulas, and the attention that takes any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest
import torch
from torch import Tensor

from regard.nn.scores import Additive, Dot, Multiplicative, ScoreKind, SourceAttention, build_score

B, N, S, D = 2, 3, 5, 4
KINDS = pytest.mark.parametrize("kind", get_args(ScoreKind))


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(1)


def some_source() -> tuple[Tensor, Tensor]:
    """A source (B, S, D) whose second row has two places of padding, and its mask."""
    return torch.randn(B, S, D), torch.arange(S) < torch.tensor([[S], [S - 2]])


@torch.no_grad()
def pairs(query: Tensor, source: Tensor, formula: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """A formula of one query and one place, for all of them (B, N, S)."""
    rows = zip(query, source, strict=True)
    return torch.tensor([[[float(formula(s, h)) for h in hs] for s in ss] for ss, hs in rows])


def test_dot() -> None:
    query, source = torch.randn(B, N, D), torch.randn(B, S, D)
    score = Dot()
    found = score(query, score.prepare(source))
    torch.testing.assert_close(found, pairs(query, source, lambda s, h: s @ h))


def test_multiplicative() -> None:
    query, source = torch.randn(B, N, D), torch.randn(B, S, D)
    score = Multiplicative(D)
    found = score(query, score.prepare(source))
    torch.testing.assert_close(found, pairs(query, source, lambda s, h: s @ (score.weight @ h)))


def test_additive() -> None:
    query, source = torch.randn(B, N, D), torch.randn(B, S, D)
    score = Additive(D)
    torch.nn.init.normal_(score.of_query.bias)
    w1, w2, b, v = score.of_source, score.of_query.weight, score.of_query.bias, score.sum
    found = score(query, score.prepare(source))
    expected = pairs(query, source, lambda s, h: v @ torch.tanh(w1 @ h + w2 @ s + b))
    torch.testing.assert_close(found, expected)


@KINDS
def test_attention_is_the_mean_by_the_softmax_of_the_real_places(kind: ScoreKind) -> None:
    (source, mask), query = some_source(), torch.randn(B, N, D)
    attention = SourceAttention(build_score(kind, D))
    found = attention(query, attention.prepare(source, mask))
    for row in range(B):
        real = source[row : row + 1, mask[row]]
        scores = attention.score(query[row : row + 1], attention.score.prepare(real))
        torch.testing.assert_close(found[row], (scores.softmax(dim=-1) @ real)[0])


@KINDS
def test_hypotheses_share_the_source_of_their_sentence(kind: ScoreKind) -> None:
    (source, mask), query = some_source(), torch.randn(B * 3, N, D)
    attention = SourceAttention(build_score(kind, D))
    folded = attention(query, attention.prepare(source, mask))
    copied = [tensor.repeat_interleave(3, dim=0) for tensor in (source, mask)]
    torch.testing.assert_close(folded, attention(query, attention.prepare(*copied)))


@KINDS
def test_the_probe_gets_one_head_of_weights(kind: ScoreKind) -> None:
    (source, mask), query = some_source(), torch.randn(B * 3, N, D)
    attention = SourceAttention(build_score(kind, D))
    prepared = attention.prepare(source, mask)
    attention.probe = []
    found = attention(query, prepared)
    (weights,) = attention.probe
    assert weights.shape == (B * 3, 1, N, S)
    assert float(weights[3:, :, :, S - 2 :].abs().sum()) == 0.0
    torch.testing.assert_close(weights[:, 0] @ source.repeat_interleave(3, dim=0), found)


def test_steps_can_be_reported_as_one_pass() -> None:
    (source, mask), query = some_source(), torch.randn(B, N, D)
    attention = SourceAttention(Dot())
    prepared = attention.prepare(source, mask)
    attention.probe = []
    attention(query, prepared)
    for place in range(N):
        attention(query[:, place : place + 1], prepared)
    attention.join(N)
    at_once, joined = attention.probe
    torch.testing.assert_close(joined, at_once)
