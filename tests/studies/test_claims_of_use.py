"""Measurements of how models are used respond to what they measure."""

from __future__ import annotations

import pytest
import torch

from regard.nn.mixers import MixerSizes
from regard.studies import additive_self_attention, bleu, channel, context, memory, quadratic_cost
from regard.studies import subwords as words


def test_a_window_as_wide_as_the_line_is_quadratic_again() -> None:
    def growth(nearby: int) -> float:
        sizes = MixerSizes(neighbourhood=nearby)
        few, many = (quadratic_cost.operations("window", n, sizes) for n in (256, 512))
        return many / few

    assert growth(8) < 2.2
    assert growth(1024) > 2.6


def test_where_costs_cross() -> None:
    full, linear = {1: 1.0, 4: 16.0}, {1: 2.0, 4: 8.0}
    assert quadratic_cost.crossing(full, linear) == pytest.approx(2.0)
    assert quadratic_cost.crossing(linear, {1: 3.0, 4: 9.0}) is None


def test_bleu_is_deceived_only_by_sentences_that_are_nearer_to_the_reference() -> None:
    given = list(bleu.cases(60, 1))
    assert sum(bleu.judge(bleu.METRICS[0], given, 1).deceived) > 60 * len(given)
    same = [bleu.Case(each.reference, (each.reference,), each.wrong) for each in given]
    assert sum(bleu.judge(bleu.METRICS[0], same, 1).deceived) == 0


def test_ranks_that_agree_correlate_whatever_the_numbers() -> None:
    points = [(float(n), float(n**3)) for n in range(12)]
    assert bleu.rank_correlation(points).low > 0.99
    mixed = bleu.rank_correlation([(a, -b if a % 2 else b) for a, b in points])
    assert mixed.value < 0.5
    assert mixed.low < 0.2
    assert bleu.rank_correlation([(1.0, 2.0), (1.0, 3.0)]).value == 0


def test_meanings_are_told_apart_only_if_vectors_differ_by_meaning() -> None:
    torch.manual_seed(1)
    meanings = torch.arange(3).repeat_interleave(20)
    noise = torch.randn(60, 8)
    apart = noise + 20 * torch.nn.functional.one_hot(meanings, 8)
    assert context.told_apart(apart, meanings) == 100
    assert context.told_apart(noise, meanings) < 60
    assert context.told_apart(torch.ones(60, 8), meanings) == pytest.approx(100 / 3)


def test_the_product_needs_both_factors() -> None:
    given = channel.Candidates(("a", "b", "c"), (-1, -2, -3), (-1, -9, -2), (-9, -1, -2))
    best = {name: given.best(*weights) for name, weights in channel.WEIGHTS.items()}
    assert best["P(x | y) alone"] == best["P(y | x)"] == "a"
    assert best["P(y) alone"] == "b"
    assert best["P(x | y) P(y)"] == "c"


def test_memory_is_as_long_as_what_is_copied() -> None:
    assert memory.remembered(["a b c"], ["a b d"]) == pytest.approx(200 / 3)
    assert memory.span([(3, 99.0), (6, 91.0), (9, 20.0), (12, 95.0)]) == 6


def test_recall_counts_the_wanted_words_only() -> None:
    assert words.recall(["ein Hund", "eine Katze"], [{"Hund"}, {"Maus"}]) == 50


def test_only_the_additive_score_keeps_a_vector_per_pair() -> None:
    def growth(kind: str) -> float:
        return additive_self_attention.largest(kind, 64) / 64**2

    assert growth("additive") == additive_self_attention.WIDTH
    assert growth("scaled dot") <= 2
