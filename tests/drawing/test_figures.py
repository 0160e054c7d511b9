"""Figures: they show the numbers they are given, whatever things are called, the same each time."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from regard.drawing.curves import save_curves
from regard.drawing.figure import LABEL_MAX_LETTERS, printable
from regard.drawing.heat_map import save_heat_map
from regard.drawing.ladder import Bar, ladder_svg, save_ladder
from regard.drawing.points import Drawn, save_points
from regard.errors import UsageError

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "$x^2$",
    "$",
    r"\frac{1}{0}$",
    "</svg><script>alert(1)</script>",
    "a&b]]>",
    "_hidden",
    "日本語 עברית ไทย 🙂",
    "nul\0 bell\a line\nbreak",
    "\ud800",
    "\ufffe",
    "",
    "long " * 100_000,
]
POINTS = [(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]


def parse(path: Path) -> ElementTree.Element:
    return ElementTree.parse(path).getroot()


def texts(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def group(root: ElementTree.Element, name: str) -> ElementTree.Element:
    (found,) = (each for each in root.iter(f"{SVG}g") if each.get("id") == name)
    return found


def coordinates(element: ElementTree.Element) -> np.ndarray:
    """Of all points of the first path in a group."""
    path = next(element.iter(f"{SVG}path")).attrib["d"]
    return np.array(re.findall(r"[ML] ([\d.-]+) ([\d.-]+)", path), dtype=float)


def curves(path: Path, names: list[str]) -> None:
    save_curves(path, {name: dict.fromkeys(names, POINTS) for name in names[:3]}, names[0])


def ladder(path: Path, names: list[str]) -> None:
    bars = [Bar(name, 40.0, (38.0, 42.0), [1.0, 2.0]) for name in names]
    save_ladder(path, names[0], bars, names[:2])


def heat_map(path: Path, names: list[str]) -> None:
    weights = np.random.default_rng(1).random((len(names), len(names)))
    save_heat_map(path, weights, names, names)


FIGURES = {"curves": curves, "ladder": ladder, "heat map": heat_map}
each_figure = pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES.keys())


@each_figure
def test_any_name_can_be_drawn(draw: Callable[[Path, list[str]], None], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("svg", "png"):
            draw(tmp_path / f"a.{kind}", HOSTILE)
    root = parse(tmp_path / "a.svg")
    shown = texts(root)
    for name in HOSTILE:
        assert name == "" or printable(name) in shown
    assert not list(root.iter(f"{SVG}script"))
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@each_figure
def test_the_same_numbers_give_the_same_file(
    draw: Callable[[Path, list[str]], None], tmp_path: Path
) -> None:
    for kind in ("svg", "png"):
        draw(tmp_path / f"a.{kind}", ["a", "b"])
        draw(tmp_path / f"b.{kind}", ["a", "b"])
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert "date" not in (tmp_path / "a.svg").read_text().lower()


@each_figure
def test_other_kinds_of_files_are_refused(
    draw: Callable[[Path, list[str]], None], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"'.gif': choose .svg or .png"):
        draw(tmp_path / "a.gif", ["a", "b"])
    assert not list(tmp_path.iterdir())


def test_labels_are_short_and_visible() -> None:
    assert printable("a\nb\0") == "a\ufffdb\ufffd"
    assert len(printable("x" * 1000)) == LABEL_MAX_LETTERS
    assert printable("$a_1$") == "$a_1$"


def test_curves_pass_through_their_points(tmp_path: Path) -> None:
    save_curves(tmp_path / "a.svg", {"loss": {"training": POINTS}}, "step")
    found = coordinates(group(parse(tmp_path / "a.svg"), "panel-0-curve-0"))
    assert len(found) == 3
    steps = np.diff(found, axis=0)
    np.testing.assert_allclose(steps[0], steps[1], atol=1e-3)
    assert steps[0][0] > 0
    assert steps[0][1] > 0  # downwards


def test_values_that_are_not_finite_are_left_out(tmp_path: Path) -> None:
    points = [(1, 2.0), (2, float("nan")), (3, float("inf")), (4, 1.0)]
    save_curves(tmp_path / "a.svg", {"loss": {"training": points}}, "step")
    assert len(coordinates(group(parse(tmp_path / "a.svg"), "panel-0-curve-0"))) == 2
    save_curves(tmp_path / "b.svg", {"loss": {"training": points[1:3]}}, "step")
    assert "nothing yet" in texts(parse(tmp_path / "b.svg"))


def test_logarithmic_axes_have_plain_ticks(tmp_path: Path) -> None:
    points = [(float(2**power), 10.0**power) for power in range(8, 12)]
    save_curves(tmp_path / "a.svg", {"seconds": {"full": [*points, (4096, 0.0)]}}, "n", True)
    shown = texts(parse(tmp_path / "a.svg"))
    assert {"256", "512", "1024", "2048"} <= set(shown)
    assert not any("$" in text for text in shown)


def test_bars_are_as_long_as_their_scores_and_inside_the_figure() -> None:
    """Any number of them; without an interval, a score of 0 or one above 100 in its last digit."""
    for values in ([0.0], [100.00000000000004], [float(number) for number in range(1, 31)]):
        bars = [
            Bar(f"r{number}" * 20, value, (value - 1, value + 1) if number % 2 else None, [value])
            for number, value in enumerate(values)
        ]
        root = ElementTree.fromstring(ladder_svg("BLEU", bars, ["1–4"]))
        numbers = [float(text) for text in texts(root) if text.replace(".", "").isdigit()]
        assert max(numbers) <= 100
        _, _, width, height = (float(part) for part in root.attrib["viewBox"].split())
        found = [coordinates(group(root, f"bar-{number}")) for number in range(len(values))]
        for corners in found:
            assert (corners >= 0).all()
            assert (corners <= (width, height)).all()
        lengths = [np.ptp(corners[:, 0]) for corners in found]
        scale = max(lengths) / (max(values) or 1)
        np.testing.assert_allclose(lengths, np.array(values) * scale, atol=1e-3)
        names = [each.get("id", "") for each in root.iter(f"{SVG}g")]
        assert sum(name.startswith("interval-") for name in names) == len(values) // 2
        assert sum(name.startswith("by-length-") for name in names) == len(values)


def test_a_ladder_of_no_variants_is_a_figure_too() -> None:
    assert "BLEU by number of source words" in texts(
        ElementTree.fromstring(ladder_svg("BLEU", [], []))
    )


def test_long_lines_make_small_cells(tmp_path: Path) -> None:
    names = [f"{number}" for number in range(300)]
    save_heat_map(tmp_path / "a.svg", np.zeros((2, 300)), names[:2], names)
    assert float(parse(tmp_path / "a.svg").attrib["viewBox"].split()[2]) < 72 * 65


def test_matplotlib_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, regard.cli, regard.recipes, regard.drawing.ladder, regard.drawing.heat_map\n"
    )
    code += (
        "import regard.ladders.report, regard.runs.train\nassert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_points_and_paths_are_drawn(ending: str, tmp_path: Path) -> None:
    square = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.5, 0.5)]
    panels = [Drawn("a hull", square, square[:3], square[:4]), Drawn("nothing", square, [], [])]
    path = tmp_path / f"points.{ending}"
    save_points(path, panels)
    assert path.stat().st_size > 1000
