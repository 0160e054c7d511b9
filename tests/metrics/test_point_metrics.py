"""Covered area and tour length, with outputs that are no polygons and no tours."""

from __future__ import annotations

import pytest

from regard.metrics.points import SimplePolygons, TourLength, ValidTours, area, is_simple
from regard.metrics.table import higher_is_better, metrics_for, quick_score
from regard.metrics.text import TextMetrics

SQUARE = "0,0 2,0 2,2 0,2 1,1 1,0"
"""With its centre as point 5 and the middle of an edge as point 6."""


@pytest.mark.parametrize(
    ("output", "covered", "simple"),
    [
        ("1 2 3 4", 100, True),
        ("4 3 2 1", 100, True),  # whichever way round
        ("2 3 4 1", 100, True),
        ("1 2 3", 50, True),
        ("1 2 3 5", 50, True),  # the centre is on the edge from 3 to 1
        ("1 2 3 4 5", 75, True),  # not convex
        ("1 6 2 3 4", 100, True),  # straight on is no crossing
        ("1 3 2 4", 0, False),  # edges cross
        ("1 2 6 3 4", 0, False),  # goes back on its own edge
        ("1 2 3 6 4", 0, False),  # a corner on another edge
        ("1 2 3 4 1", 0, False),  # a corner twice
        ("1 2", 0, False),
        ("", 0, False),
    ],
)
def test_covered_area(output: str, covered: float, simple: bool) -> None:
    assert quick_score("covered_area", [SQUARE], [output], ["1 2 3 4"]) == pytest.approx(covered)
    assert SimplePolygons(TextMetrics()).score([SQUARE], [output], [""]).value == 100 * simple


def test_a_polygon_of_any_shape() -> None:
    arrow = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (3.0, 1.0)]
    assert is_simple(arrow)
    assert area(arrow) == pytest.approx(area(arrow[::-1])) == pytest.approx(4)


@pytest.mark.parametrize(
    ("output", "length", "valid"),
    [
        ("1 2 3 4", 8, True),
        ("1 3 2 4", 4 + 2 * 8**0.5, True),
        ("1 2", 8, False),  # 3 and 4 follow
        ("1 3", 4 + 2 * 8**0.5, False),  # 2 and 4 follow
        ("1 1 2 3 4", 8, False),  # the second 1 is dropped
        ("", 8, False),
    ],
)
def test_tour_length(output: str, length: float, valid: bool) -> None:
    square = "0,0 2,0 2,2 0,2"
    found = quick_score("tour_length", [square], [output], ["1 2 3 4"])
    assert found == pytest.approx(100 * length / 8)
    assert ValidTours(TextMetrics()).score([square], [output], [""]).value == 100 * valid


def test_the_rule_for_what_is_invalid_is_in_the_signature() -> None:
    found = TourLength(TextMetrics()).score(["0,0 1,0 1,1"] * 2, ["1 2 3", "1"], ["1 2 3"] * 2)
    assert found.margin is not None
    assert "not a tour:completed" in found.signature
    assert "bs:1000" in found.signature
    assert not higher_is_better("tour_length")
    assert higher_is_better("covered_area")


def test_a_metric_chosen_for_training_judges_the_run() -> None:
    def names(chosen: str) -> list[str]:
        return [metric.name for metric in metrics_for("indices", TextMetrics(), [], chosen)]

    assert names("exact") == names("loss") == ["exact"]
    assert names("covered_area") == ["covered_area", "simple_polygons", "exact"]
    assert names("tour_length") == ["tour_length", "valid_tours", "exact"]
