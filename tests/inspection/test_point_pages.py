"""Points in the plane, what was written as a path through them, and the weights at each step."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from shown import Shown, width
from untrained import untrained

from regard.cli import main
from regard.data.annotations import Numbers
from regard.data.line import Line, Pair
from regard.inspection.look import Look, look
from regard.inspection.page import save_page
from regard.models.pointer import PointerConfig
from regard.runs.folder import Run
from regard.runs.snapshot import save_snapshot, snapshot

SMALL = PointerConfig.miniatures()[0]
FOUR = "0.1,0.2 0.9,0.1 0.5,0.8 0.4,0.4"
DOT, GLOW = 4, 16  # as in points.js


def read(points: str, target: str) -> Look:
    return look(untrained(SMALL), points, target=target)


def opened(browser: Any, folder: Path, *looks: Look) -> Shown:
    save_page(looks, folder / "look.html")
    return Shown(browser, folder / "look.html")


def numbers(shown: Shown, selector: str, *names: str) -> NDArray[np.float64]:
    """(elements, names): attributes of the elements."""
    found = [[float(each.get_attribute(name)) for name in names] for each in shown.all(selector)]
    return np.array(found)


def places(shown: Shown) -> NDArray[np.float64]:
    return numbers(shown, ".plane .dot", "cx", "cy")


def radii(shown: Shown) -> NDArray[np.float64]:
    return numbers(shown, ".plane .disc", "r")[:, 0]


def corners(path: Any) -> NDArray[np.float64]:
    """(corners, 2) of a line on the page."""
    found = re.findall(r"[-\d.e]+", str(path.get_attribute("d")))
    return np.array(found, dtype=float).reshape(-1, 2)


def steps(shown: Shown, selector: str = ".step") -> list[list[int]]:
    """Of each line of the path the indices of the two points that it joins, counted from 1."""
    found = []
    for line in shown.all(f".plane {selector} > path:first-child"):
        apart = places(shown)[:, None] - corners(line)
        found.append((np.hypot(*apart.transpose(2, 0, 1)).argmin(axis=0) + 1).tolist())
    return found


def boxes(shown: Shown, selector: str) -> NDArray[np.float64]:
    """(elements, 4): left, top, right and bottom of those that are visible."""
    script = (
        "return [...document.querySelectorAll(arguments[0])]"
        ".filter((each) => getComputedStyle(each).visibility === 'visible')"
        ".map((each) => each.getBoundingClientRect())"
        ".map((box) => [box.left, box.top, box.right, box.bottom])"
    )
    return np.array(shown.browser.execute_script(script, selector)).reshape(-1, 4)


def overlapping(some: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    start = np.maximum(some[:, None, :2], others[None, :, :2])
    end = np.minimum(some[:, None, 2:], others[None, :, 2:])
    return np.asarray((end - start > 0).all(axis=2))


@contextmanager
def dark(browser: Any) -> Iterator[None]:
    emulate = "Emulation.setEmulatedMedia"
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd(emulate, {"features": [scheme]})
    yield
    browser.execute_cdp_cmd(emulate, {"features": []})


def test_points_are_words_of_two_numbers() -> None:
    assert Numbers(2).points(Line("1,2 0.5,-3e2")) == ((1, 2), (0.5, -300))
    assert Numbers(1).points(Line("1 2")) == ()
    assert Numbers(3).points(Line("1,2,3")) == ()
    assert read(FOUR, "1 2").points == ((0.1, 0.2), (0.9, 0.1), (0.5, 0.8), (0.4, 0.4))


@pytest.mark.parametrize("pixels", [1200, 400])
def test_points_are_at_their_coordinates(browser: Any, tmp_path: Path, pixels: int) -> None:
    found = read(FOUR, "1 2 3")
    with width(browser, pixels):
        shown = opened(browser, tmp_path, found)
        assert shown.pressed("view") == ["points and map"]
        drawn, given = places(shown), np.array(found.points)
        scale = np.ptp(drawn[:, 0]) / np.ptp(given[:, 0])
        assert scale > 300
        expected = drawn[0] + scale * (given - given[0]) * [1, -1]
        np.testing.assert_allclose(drawn, expected, atol=1e-6)
        assert [each.text for each in shown.all(".plane text")] == ["1", "2", "3", "4"]
        assert "x from 0.1 to 0.9. Up: y from 0.1 to 0.8." in shown.all(".points .note")[0].text
        assert shown.overflow() == 0
        assert shown.errors() == []


@pytest.mark.parametrize(
    ("target", "written", "closing"),
    [
        ("1 2 3", [[1, 2], [2, 3], [3, 1]], [[3, 1]]),
        ("4 1 2 3", [[4, 1], [1, 2], [2, 3], [3, 4]], [[3, 4]]),
        ("2 4", [[2, 4]], []),
        ("3", [], []),
        ("1 2 3 1", [[1, 2], [2, 3], [3, 1]], []),  # it is closed as it is
        ("1 1 2", [[1, 2], [2, 1]], [[2, 1]]),
    ],
)
def test_the_target_is_a_path(
    browser: Any, tmp_path: Path, target: str, written: list[Any], closing: list[Any]
) -> None:
    shown = opened(browser, tmp_path, read(FOUR, target))
    assert steps(shown) == written
    assert steps(shown, ".closing") == closing
    assert ("The dashed line" in shown.all(".points .note")[0].text) == bool(closing)
    for line in shown.all(".step"):
        parts = line.find_elements("css selector", "path")
        (start, end), (tip, *wings) = (corners(part) for part in parts)
        assert (tip - np.mean(wings, axis=0)) @ (end - start) > 0
    assert shown.errors() == []


def test_a_written_index_shows_the_weight_of_each_point(browser: Any, tmp_path: Path) -> None:
    found = read(FOUR, "1 4 3 2")
    shown = opened(browser, tmp_path, found)
    assert not radii(shown).any()
    weights = found.attention("cross")
    for row in (2, 4):  # an index, and the end
        said = shown.point_at(shown.all(".points .word")[row])
        assert said.startswith(f"{found.target.words[row]} attends to #")
        expected = DOT + GLOW * np.sqrt(weights[row, :4])
        np.testing.assert_allclose(radii(shown), expected, atol=0.01)
        assert steps(shown, ".now") == [[[4, 3], [2, 1]][row // 4]]
        assert len(shown.all(".plane .later")) == 4 - row
        assert [each.text for each in shown.all(".plane .lit")] == (["3"] if row == 2 else [])
        assert [each.text for each in shown.all(".map .lit")] == [found.target.words[row]]
    shown.all(".points .word")[1].click()
    shown.point_at(shown.all("h1, .kind")[0])  # it is pinned
    assert steps(shown, ".now") == [[1, 4]]
    shown.keys("ESCAPE")
    assert not radii(shown).any()
    assert not shown.all(".plane .later")
    assert shown.errors() == []


def test_the_points_and_the_map_follow_one_pointer(browser: Any, tmp_path: Path) -> None:
    found = read(FOUR, "1 2")
    shown = opened(browser, tmp_path, found)
    weights = found.attention("cross")
    said = shown.point_at(shown.all(".map .body")[0])  # in the middle
    assert said.startswith("2 attends to #3 ")
    np.testing.assert_allclose(radii(shown), DOT + GLOW * np.sqrt(weights[1, :4]), atol=0.01)
    said = shown.point_at(shown.all(".plane .dot")[3])
    assert said.startswith("#4 is attended to by ")
    assert [each.text for each in shown.all(".map .lit")] == ["#4"]
    assert [each.text for each in shown.all(".plane .lit")] == ["4"]
    assert all("gradient" in each.get_attribute("style") for each in shown.all(".points .word"))
    shown.all(".points .word")[0].click()
    shown.keys("ARROW_RIGHT", "ENTER")
    assert steps(shown, ".now") == [[1, 2]]
    assert shown.errors() == []


CASES = {
    "two equal": ("0.2,0.2 0.8,0.3 0.8,0.3 0.5,0.9", "1 2 3 4"),
    "all equal": ("3,3 3,3 3,3", "1 2 3"),
    "on a line": ("0,5 1,5 2,5 40,5", "1 4 2"),
    "upwards": ("1,0 1,7 1,2", "2 1"),
    "one": ("3,4", "1"),
    "far apart": ("-1e15,0 1e15,1 0,1e-300", "1 2 3"),
}


@pytest.mark.parametrize("pixels", [1200, 400])
@pytest.mark.parametrize("case", CASES)
def test_any_points_are_drawn(browser: Any, tmp_path: Path, case: str, pixels: int) -> None:
    points, target = CASES[case]
    with width(browser, pixels):
        shown = opened(browser, tmp_path, read(points, target))
        drawn = places(shown)
        assert len(drawn) == len(points.split())
        ((left, top, right, bottom),) = boxes(shown, ".plane")
        labels, dots = boxes(shown, ".plane text"), boxes(shown, ".plane .dot")
        assert len(labels) == len(drawn)  # each has room
        assert not overlapping(labels, dots).any()
        assert overlapping(labels, labels).sum() == len(labels)  # each with itself
        inside = np.array([left, top]) <= labels[:, :2], labels[:, 2:] <= np.array([right, bottom])
        assert np.all(inside)
        shown.point_at(shown.all(".points .word")[-1])
        assert len(radii(shown)) == len(drawn)
        assert shown.overflow() == 0
        assert shown.errors() == []


@pytest.mark.parametrize("pixels", [1200, 400])
def test_labels_of_fifty_points_overlap_nothing(browser: Any, tmp_path: Path, pixels: int) -> None:
    at = random.Random(2)
    points = " ".join(f"{at.random():.3f},{at.random():.3f}" for _ in range(50))
    target = " ".join(str(1 + index) for index in at.sample(range(50), 12))
    with width(browser, pixels):
        shown = opened(browser, tmp_path, read(points, target))
        labels, dots = boxes(shown, ".plane text"), boxes(shown, ".plane .dot")
        assert len(dots) == 50
        assert len(labels) >= 48
        assert not overlapping(labels, dots).any()
        assert overlapping(labels, labels).sum() == len(labels)
        assert shown.overflow() == 0
        assert shown.errors() == []


def test_a_label_without_room_appears_when_its_point_is_pointed_at(
    browser: Any, tmp_path: Path
) -> None:
    shown = opened(browser, tmp_path, read(" ".join(["1,1"] * 70), "70 1"))
    assert shown.pressed("view") == ["points and map"]  # however many there are
    labels = shown.all(".plane text")
    assert 8 <= sum(each.is_displayed() for each in labels) < 70
    assert not labels[69].is_displayed()
    shown.point_at(shown.all(".points .word")[0])
    assert labels[69].is_displayed()


@pytest.mark.parametrize("pixels", [1000, 1100, 1400])
def test_points_and_map_are_beside_each_other(browser: Any, tmp_path: Path, pixels: int) -> None:
    points = " ".join(f"{x},{x * x % 7}" for x in range(10))
    with width(browser, pixels):
        shown = opened(browser, tmp_path, read(points, "1 2 3"))
        (plane,), (map_,) = boxes(shown, ".plane"), boxes(shown, ".map")
        assert plane[2] < map_[0]
        assert map_[1] < plane[3]
        (scroll,) = shown.all(".scroll:has(.map)")
        script = "return arguments[0].scrollWidth - arguments[0].clientWidth"
        assert browser.execute_script(script, scroll) == 0
        assert shown.overflow() == 0


def test_both_themes(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, read(FOUR, "1 2 3"))
    seen = []
    for theme in (None, dark):
        with theme(browser) if theme else width(browser, 1200):
            shown.reload()
            style = "return ['.dot', '.disc', '.step .arrow', 'text'].map((each) => "
            style += "getComputedStyle(document.querySelector('.plane ' + each)).fill)"
            dot, disc, arrow, text = shown.browser.execute_script(style)
            assert disc == f"rgba({', '.join(map(str, shown.colour('--head-1')))}, 0.45)"
            assert arrow == f"rgb({', '.join(map(str, shown.colour('--faint')))})"
            assert dot == text
            seen.append({dot, disc, arrow})
    assert not seen[0] & seen[1]
    assert shown.errors() == []


def test_other_views_and_other_sources_are_as_before(browser: Any, tmp_path: Path) -> None:
    three = look(untrained(SMALL.changed(numbers=3)), "1,2,3 4,5,6", target="2 1")
    shown = opened(browser, tmp_path, read(FOUR, "1 2"), three)
    views = [each.text for each in shown.all("[data-choice=view]")]
    assert views == ["points and map", "lines and map", "text"]
    assert not shown.all("[data-choice=moment]")  # points are drawn as they are written
    shown.press("view", "lines and map")
    assert shown.all(".columns")
    assert shown.all("[data-choice=moment]")
    shown.press("kind", "within the source")
    assert not shown.all(".plane")
    shown.press("kind", "target to source")
    shown.press("view", "points and map")
    shown.sentence(1)
    assert not shown.all(".plane")
    assert shown.pressed("view") == ["lines and map"]
    assert shown.errors() == []


def test_watch_draws_the_points(browser: Any, transformer: Path, tmp_path: Path) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    pair = Pair(1, Line(FOUR), Line("1 2 3"))
    facts = snapshot(untrained(SMALL), [pair], ["1 4 3"])
    save_snapshot(Run.open(tmp_path / "run"), 9, facts)
    page = tmp_path / "watch.html"
    assert main(["watch", str(tmp_path / "run"), "--output", str(page)]) == 0
    for pixels in (1200, 400):
        with width(browser, pixels):
            shown = Shown(browser, page)
            assert steps(shown) == [[1, 4], [4, 3], [3, 1]]
            shown.point_at(shown.all(".points .word")[1])
            weights = read(FOUR, "1 4 3").attention("cross")[1, :4]
            np.testing.assert_allclose(radii(shown), DOT + GLOW * np.sqrt(weights), atol=0.1)
            assert [each.text for each in shown.all(".map .lit")] == ["4"]
            assert shown.overflow() == 0
            assert shown.errors() == []
