"""Hulls, tours and sorted orders: right by brute force, in canonical order, one corpus per seed."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.corpora.points import TASKS, Points, generate, hulls, read_sizes, tours
from regard.corpora.registry import write_corpus
from regard.errors import UsageError
from regard.metrics.points import read_points, round_trip

SMALL = st.tuples(st.integers(0, 6), st.integers(0, 6))
"""So few different points that many lie on one line."""


def turn(a: list[int], b: list[int], c: list[int]) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@settings(max_examples=200, deadline=None)
@given(st.lists(SMALL, min_size=3, max_size=9, unique=True))
def test_all_points_are_left_of_every_edge_of_a_hull(drawn: list[tuple[int, int]]) -> None:
    points = [list(point) for point in drawn]
    (corners,) = hulls(np.array([points]))
    assert corners[0] == min(corners)
    assert len(set(corners)) == len(corners)
    if len(corners) < 3:  # all on one line: its two ends
        assert all(turn(points[0], points[1], each) == 0 for each in points)
        return
    for a, b, c in zip(corners, corners[1:] + corners[:1], corners[2:] + corners[:2], strict=True):
        assert turn(points[a], points[b], points[c]) > 0  # no corner on an edge, counter-clockwise
        assert all(turn(points[a], points[b], each) >= 0 for each in points)


def length(points: Points, order: tuple[int, ...]) -> float:
    return round_trip([tuple(points[index]) for index in order])


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_no_permutation_is_shorter_than_a_tour(size: int) -> None:
    points = np.random.default_rng(size).integers(0, 10_000, (12, size, 2))
    for line, tour in zip(points, tours(points), strict=True):
        assert sorted(tour) == list(range(size))
        assert tour[0] == 0
        assert tour[1] < tour[-1]
        best = min(length(line, (0, *rest)) for rest in permutations(range(1, size)))
        assert length(line, tuple(tour)) == pytest.approx(best)


def test_many_tours_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(1).integers(0, 10_000, (20, 6, 2))
    whole = tours(points)
    monkeypatch.setattr("regard.corpora.points._TABLE_NUMBERS", 7 * (5 << 5))
    assert tours(points) == whole


def test_numbers_are_sorted() -> None:
    for examples in generate("sorting", 100, held_out=10).values():
        for source, target in examples:
            numbers = [point[0] for point in read_points(source)]
            order = [int(index) - 1 for index in target.split()]
            assert [numbers[index] for index in order] == sorted(numbers)


@pytest.mark.parametrize("name", TASKS)
def test_sizes_are_those_asked_for_and_no_point_comes_twice(name: str) -> None:
    corpus = generate(name, 200, held_out=5, sizes=(4, 6))
    assert {len(source.split()) for source, _ in corpus["train"]} == {4, 5, 6}
    for size in TASKS[name].tests:
        assert {len(source.split()) for source, _ in corpus[f"test.{size}"]} == {size}
    for source, _ in corpus["train"]:
        points = read_points(source)
        assert len(set(points)) == len(points)
        assert all(len(point) == TASKS[name].numbers for point in points)
        assert all(
            0 <= number < 1 and math.isfinite(number) for point in points for number in point
        )


@pytest.mark.parametrize("name", TASKS)
def test_a_seed_decides_and_the_training_size_does_not(name: str) -> None:
    small, large = (generate(name, pairs, held_out=5) for pairs in (20, 40))
    assert small["train"] == large["train"][:20]
    assert {**small, "train": []} == {**large, "train": []}
    assert generate(name, 20, seed=2, held_out=5)["valid"] != small["valid"]


def test_a_corpus_may_be_larger_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.corpora.points._BLOCK", 8)
    done: list[int] = []
    corpus = generate("sorting", 30, held_out=3, count=done.append)
    assert len(set(corpus["train"])) == 30
    assert sum(done) == sum(map(len, corpus.values()))


def test_what_cannot_be_generated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="have 3 to 15 points"):
        write_corpus("tour", tmp_path, 10, sizes=(5, 40))
    with pytest.raises(UsageError, match="remove --points"):
        write_corpus("copy", tmp_path, 10, sizes=(5, 5))
    with pytest.raises(UsageError, match="such as 5-10"):
        read_sizes("five")
    assert read_sizes("7") == (7, 7)
    assert read_sizes("5-50") == (5, 50)
    with pytest.raises(UsageError, match="At most"):
        write_corpus("sorting", tmp_path, 10**9)


def test_write(tmp_path: Path) -> None:
    write_corpus("convex_hull", tmp_path, pairs=10, sizes=(5, 5))
    corpus = generate("convex_hull", 10, sizes=(5, 5))
    for split, examples in corpus.items():
        for number, side in enumerate(("source", "target")):
            lines = (tmp_path / f"{split}.{side}").read_text().splitlines()
            assert lines == [example[number] for example in examples]
