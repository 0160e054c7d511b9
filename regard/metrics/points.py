"""Metrics of indices of points: how much of a convex hull they cover, and how long a tour is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations, starmap

import numpy as np
from numpy.typing import NDArray

from regard.metrics.base import Statistics
from regard.metrics.labels import LabelMetric

Point = tuple[float, ...]
Points = list[Point]
Edge = tuple[Point, Point]


class PointMetric(LabelMetric, ABC):
    """The mean over lines, as a percentage, of a number that follows from the points of the source,
    the indices that were written and those of the reference."""

    def statistics(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Statistics:
        """(lines, 2): the number, and 1."""
        found = [
            (self.of_line(read_points(source), output.split(), reference.split()), 1)
            for source, output, reference in zip(sources, outputs, references[0], strict=True)
        ]
        return np.array(found, dtype=np.float64).reshape(-1, 2)

    def from_statistics(self, total: NDArray[np.float64]) -> float:
        summed, lines = total.tolist()
        return 100 * summed / lines if lines else 0.0

    @abstractmethod
    def of_line(self, points: Points, output: list[str], reference: list[str]) -> float: ...


class CoveredArea(PointMetric):
    """The area of the polygon that was written, relative to that of the reference's.

    Its corners are points of the source, so if it is simple it lies inside their convex hull, and
    its area is what it covers of it. Anything else covers nothing.
    """

    name, label, higher = "covered_area", "covered area", True
    details = "unit:line|of:reference|not simple:0"

    def of_line(self, points: Points, output: list[str], reference: list[str]) -> float:
        if output == reference:
            return 1.0
        whole = area(chosen(points, reference))
        corners = chosen(points, output)
        return area(corners) / whole if whole and is_simple(corners) else 0.0


class SimplePolygons(PointMetric):
    """The percentage of outputs that are simple polygons: at least three corners, none of them
    twice, and no two edges that meet outside a common corner."""

    name, label, higher = "simple_polygons", "simple polygons", True
    details = "unit:line"

    def of_line(self, points: Points, output: list[str], reference: list[str]) -> float:
        return float(is_simple(chosen(points, output)))


class TourLength(PointMetric):
    """The length of the round trip that was written, relative to that of the reference's.

    Where an output is not a tour, indices that come again are dropped, and the points that are
    missing are visited at the end, in the order of the source.
    """

    name, label, higher = "tour_length", "tour length", False
    details = "unit:line|of:reference|not a tour:completed in the order of the source"

    def of_line(self, points: Points, output: list[str], reference: list[str]) -> float:
        best = round_trip(chosen(points, reference))
        tour = list(dict.fromkeys([*chosen(points, output), *points]))
        return round_trip(tour) / best if best else 1.0


class ValidTours(PointMetric):
    """The percentage of outputs that visit each point exactly once."""

    name, label, higher = "valid_tours", "valid tours", True
    details = "unit:line"

    def of_line(self, points: Points, output: list[str], reference: list[str]) -> float:
        every = [str(index) for index in range(1, len(points) + 1)]
        return float(sorted(output) == sorted(every))


def read_points(source: str) -> Points:
    """The points of a line such as 0.31,0.52 0.13,0.94."""
    return [tuple(map(float, word.split(","))) for word in source.split()]


def chosen(points: Points, indices: Sequence[str]) -> Points:
    """The points with these indices, counted from 1; those that do not exist are left out."""
    numbers = [int(index) for index in indices if index.isdecimal()]
    return [points[number - 1] for number in numbers if 1 <= number <= len(points)]


def area(corners: Points) -> float:
    """Of a simple polygon in the plane, whichever way round it is given."""
    doubled = sum(a[0] * b[1] - a[1] * b[0] for a, b in _edges(corners))
    return abs(doubled) / 2


def round_trip(tour: Points) -> float:
    return sum(math.dist(a, b) for a, b in _edges(tour))


def is_simple(corners: Points) -> bool:
    """Whether a polygon in the plane does not touch itself."""
    if len(corners) < 3 or len(set(corners)) < len(corners):
        return False
    return not any(starmap(_touch, combinations(_edges(corners), 2)))


def _edges(points: Points) -> list[Edge]:
    """From each point to the next, and from the last to the first."""
    return list(zip(points, [*points[1:], *points[:1]], strict=True))


def _touch(first: Edge, second: Edge) -> bool:
    """Whether two edges have more in common than a corner."""
    (a, b), (c, d) = first, second
    if shared := {a, b} & {c, d}:  # neighbours touch if one lies on the other
        (end,), (other,), (corner,) = {a, b} - shared, {c, d} - shared, shared
        return _turn(corner, end, other) == 0 and _same_side(corner, end, other)
    turns = _turn(a, b, c), _turn(a, b, d), _turn(c, d, a), _turn(c, d, b)
    if turns[0] * turns[1] < 0 and turns[2] * turns[3] < 0:
        return True
    on = zip(turns, ((a, b, c), (a, b, d), (c, d, a), (c, d, b)), strict=True)
    return any(turn == 0 and _within(*three) for turn, three in on)


def _turn(a: Point, b: Point, c: Point) -> float:
    """Positive if the way from a over b to c turns left, 0 if it is straight."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _same_side(corner: Point, end: Point, other: Point) -> bool:
    """Whether two points on a line through the corner are on the same side of it."""
    return sum((p - q) * (r - q) for p, q, r in zip(end, corner, other, strict=True)) > 0


def _within(a: Point, b: Point, c: Point) -> bool:
    """Whether c, which is on the line through a and b, is between them."""
    return all(min(p, q) <= r <= max(p, q) for p, q, r in zip(a, b, c, strict=True))
