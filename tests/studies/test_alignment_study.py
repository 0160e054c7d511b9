"""Alignment: baselines lose, and attention that is moved loses as well."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

from regard.corpora import grammar
from regard.inspection.alignment import links
from regard.metrics.alignment import error_rate
from regard.studies import alignment

EXAMPLES = grammar.generate(0, held_out=60).test


def attention(example: grammar.Example, moved: int) -> frozenset[tuple[int, int]]:
    """Links by weights that are the gold alignment, moved along the source."""
    shape = len(example.target.split()), len(example.source.split())
    weights = np.zeros(shape)
    for source, target in example.alignment:
        weights[target, (source + moved) % shape[1]] = 1.0
    return links(weights, "argmax")


def test_gold_attention_beats_the_baselines_and_moved_attention_does_not() -> None:
    gold = alignment.gold_of(EXAMPLES)
    right, moved = (
        100 * error_rate([attention(each, by) for each in EXAMPLES], gold) for by in (0, 2)
    )
    diagonal = alignment.baseline(EXAMPLES, alignment.diagonal)
    drawn = alignment.baseline(EXAMPLES, partial(alignment.at_random, random.Random(1)))
    assert right < 15
    assert right == pytest.approx(100 * error_rate(list(map(alignment.one_link, EXAMPLES)), gold))
    assert right + 20 < diagonal < drawn
    assert moved > diagonal


def test_the_diagonal_is_right_where_nothing_moves() -> None:
    assert alignment.diagonal(4, 4) == frozenset((word, word) for word in range(4))
    assert max(source for source, _ in alignment.diagonal(3, 7)) == 2
    same = grammar.Example("a b c", "x y z", ((0, 0), (1, 1), (2, 2)), (0, 1, 1), None)
    assert alignment.baseline([same], alignment.diagonal) == pytest.approx(0.0)
