"""The tasks of pointer networks (Vinyals et al. 2015, arXiv 1506.03134): a line of points, and the
indices that answer it, counted from 1, in one canonical order.

Coordinates are multiples of 1/10,000 and labels are computed from exactly what is written. Training
lines have sizes of a range, and there is one test set per size.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.corpora.algorithms import MAX_PAIRS, Example
from regard.errors import UsageError
from regard.messages import counted
from regard.terminal import Count, uncounted

SCALE = 10_000
_NUMBERS = [f"{number / SCALE:.4f}" for number in range(SCALE)]
_BLOCK = 6000
"""Lines that are drawn together; those of one size are labelled together."""

_TABLE_NUMBERS = 2**23
"""Lengths held at a time when tours are computed."""

Points = NDArray[np.int64]
"""(lines, points, numbers), each from 0 to SCALE - 1."""

Answers = list[list[int]]
"""Indices from 0, for each line."""

Sizes = tuple[int, int]
"""The fewest and the most points of a line."""


def hulls(points: Points) -> Answers:
    """The corners of each convex hull, counter-clockwise from that with the lowest index.

    Points on an edge are not corners.
    """
    return [_hull(line) for line in points.tolist()]


def _hull(points: list[list[int]]) -> list[int]:
    """Andrew's monotone chain, in whole numbers and so without rounding."""
    order = sorted(range(len(points)), key=points.__getitem__)
    corners = _chain(points, order)[:-1] + _chain(points, order[::-1])[:-1]
    first = corners.index(min(corners))
    return corners[first:] + corners[:first]


def _chain(points: list[list[int]], order: list[int]) -> list[int]:
    """The half of the hull to the right of the way from the first point to the last."""
    kept: list[int] = []
    for index in order:
        while len(kept) > 1 and _turn(points[kept[-2]], points[kept[-1]], points[index]) <= 0:
            kept.pop()
        kept.append(index)
    return kept


def _turn(a: list[int], b: list[int], c: list[int]) -> int:
    """Positive if the way from a over b to c turns left, 0 if it is straight."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def tours(points: Points) -> Answers:
    """The shortest round trip of each line from its first point, which is not repeated, in the
    direction in which the second index is the smaller one."""
    lines, size = points.shape[:2]
    if size < 3:
        return [list(range(size))] * lines
    at_once = max(1, _TABLE_NUMBERS // ((size - 1) << (size - 1)))
    parts = [_tours(points[start : start + at_once]) for start in range(0, lines, at_once)]
    return [tour for part in parts for tour in part]


def _tours(points: Points) -> Answers:
    """Dynamic programming (Bellman 1962; Held & Karp 1962): of all ways from the first point that
    visit a set and end at k, the shortest comes from the shortest that visits the set without k."""
    steps = points[:, :, None] - points[:, None]  # (lines, points, points, numbers)
    distance = np.sqrt((steps**2).sum(axis=-1)).transpose(1, 2, 0)  # (points, points, lines)
    home, between = distance[0, 1:], distance[1:, 1:]
    count, lines = home.shape
    everything = (1 << count) - 1
    shortest = np.full((everything + 1, count, lines), np.inf)
    for k in range(count):
        shortest[1 << k, k] = home[k]
    for visited in range(1, everything + 1):
        for k in range(count):
            if visited >> k & 1 and visited != 1 << k:
                ways = shortest[visited ^ (1 << k)] + between[:, k]
                shortest[visited, k] = ways.min(axis=0)
    return _followed_back(shortest, home, between)


def _followed_back(
    shortest: NDArray[np.float64], home: NDArray[np.float64], between: NDArray[np.float64]
) -> Answers:
    """The tours whose lengths are known: from the end, the point before is one of the shortest
    way."""
    count, lines = home.shape
    each = np.arange(lines)
    visited = np.full(lines, (1 << count) - 1)
    last = (shortest[-1] + home).argmin(axis=0)  # (lines,)
    ways = [last]
    for _ in range(count - 1):
        visited = visited ^ (1 << last)
        last = (shortest[visited, :, each] + between[:, last, each].T).argmin(axis=1)
        ways.append(last)
    found = [[0, *(point + 1 for point in way)] for way in np.stack(ways, axis=1).tolist()]
    return [tour if tour[1] < tour[-1] else [0, *tour[:0:-1]] for tour in found]


def sorted_orders(points: Points) -> Answers:
    """The indices in ascending order of the numbers."""
    found: Answers = points[:, :, 0].argsort(axis=1).tolist()
    return found


@dataclass(frozen=True)
class PointTask:
    """How lines are labelled, how many numbers a point has, the sizes of the test sets, and how
    many points a line may have at least and at most."""

    label: Callable[[Points], Answers]
    numbers: int
    tests: tuple[int, ...]
    limits: Sizes


TASKS: dict[str, PointTask] = {
    "convex_hull": PointTask(hulls, 2, (5, 10, 20, 50), (3, 200)),
    "tour": PointTask(tours, 2, (5, 10, 12), (3, 15)),
    "sorting": PointTask(sorted_orders, 1, (5, 10, 20), (1, 200)),
}
TRAINED_SIZES: Sizes = 5, 10


def read_sizes(text: str) -> Sizes:
    """One size, such as 10, or a range, such as 5-10."""
    match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", text, re.ASCII)
    if match is None:
        raise UsageError(
            f"--points {text} is not a size: give one such as 10, or a range such as 5-10."
        )
    return int(match[1]), int(match[2] or match[1])


def generate(
    name: str,
    pairs: int,
    seed: int = 1,
    held_out: int = 500,
    sizes: Sizes = TRAINED_SIZES,
    count: Count = uncounted,
) -> Mapping[str, list[Example]]:
    """The splits by name: train, valid, and one test set per size, such as test.10; `count` is
    told how many more pairs are done."""
    task = TASKS[name]
    _check(name, task, pairs, held_out, sizes)
    trained = {
        part: _split(task, f"{seed} {name} {part}", lines, sizes, count)
        for part, lines in (("train", pairs), ("valid", held_out))
    }
    tests = {
        f"test.{size}": _split(task, f"{seed} {name} {size}", held_out, (size, size), count)
        for size in task.tests
    }
    return {**trained, **tests}


def total_pairs(name: str, pairs: int, held_out: int = 500) -> int:
    """How many pairs `generate` makes."""
    return pairs + held_out * (1 + len(TASKS[name].tests))


def _check(name: str, task: PointTask, pairs: int, held_out: int, sizes: Sizes) -> None:
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    if pairs > MAX_PAIRS:
        raise ValueError(f"At most {MAX_PAIRS:,} pairs can be generated.")
    fewest, most = task.limits
    if not fewest <= sizes[0] <= sizes[1] <= most:
        raise ValueError(f"The lines of {name} have {fewest} to {counted(most, 'point')}.")


def _split(task: PointTask, seed: str, lines: int, sizes: Sizes, count: Count) -> list[Example]:
    found: list[Example] = []
    while len(found) < lines:
        draw = np.random.default_rng([zlib.crc32(seed.encode()), len(found)])
        size_of = draw.integers(sizes[0], sizes[1] + 1, _BLOCK)
        block: list[Example] = [("", "")] * _BLOCK
        for size in range(sizes[0], sizes[1] + 1):
            numbers = np.flatnonzero(size_of == size)
            points = _draw_points(draw, len(numbers), size, task.numbers)
            wanted = int((numbers < lines - len(found)).sum())  # the last block is not complete
            for number, example in zip(numbers, _examples(task, points[:wanted]), strict=False):
                block[number] = example
            count(wanted)
        found += block[: lines - len(found)]
    return found


def _draw_points(draw: np.random.Generator, lines: int, size: int, numbers: int) -> Points:
    """(lines, size, numbers); no two points of a line are the same."""
    codes = draw.integers(0, SCALE**numbers, (lines, size))
    while (again := (np.diff(np.sort(codes, axis=1), axis=1) == 0).any(axis=1)).any():
        codes[again] = draw.integers(0, SCALE**numbers, (int(again.sum()), size))
    return np.stack([codes // SCALE**power % SCALE for power in range(numbers)], axis=-1)


def _examples(task: PointTask, points: Points) -> Iterator[Example]:
    for line, answer in zip(points.tolist(), task.label(points), strict=True):
        source = " ".join(",".join(_NUMBERS[number] for number in point) for point in line)
        yield source, " ".join(str(index + 1) for index in answer)
