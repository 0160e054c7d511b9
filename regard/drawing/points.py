"""Points in the plane with the closed paths that were written for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.drawing.figure import PALETTE, printable, save, style

Point = tuple[float, ...]

SIDE = 2.2
"""Inches of each panel."""

COLUMNS = 3


@dataclass(frozen=True)
class Drawn:
    """A line of points, the path that was written and the right one."""

    title: str
    points: Sequence[Point]
    written: Sequence[Point]
    right: Sequence[Point]


def save_points(path: Path, panels: Sequence[Drawn]) -> None:
    """One panel for each line, as .svg or .png: points with their indices, the right path broad and
    pale, and what was written on top of it."""
    with style():
        from matplotlib.figure import Figure

        rows = -(-len(panels) // COLUMNS)
        figure = Figure(figsize=(SIDE * 1.25 * COLUMNS, SIDE * 1.3 * rows))
        for number, panel in enumerate(panels, 1):
            _draw(figure.add_subplot(rows, COLUMNS, number), panel)
        figure.tight_layout()
        save(figure, path)


def _draw(axes: Any, panel: Drawn) -> None:
    _draw_path(axes, panel.right, {"color": PALETTE[0], "alpha": 0.25, "linewidth": 6})
    _draw_path(axes, panel.written, {"color": PALETTE[1], "linewidth": 1.2})
    axes.scatter(*zip(*panel.points, strict=True), s=12, color="black", zorder=3)
    for index, point in enumerate(panel.points, 1):
        axes.annotate(str(index), point, (3, 3), textcoords="offset points", fontsize=7)
    axes.set_title(printable(panel.title), fontsize=8)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])


def _draw_path(axes: Any, path: Sequence[Point], look: Mapping[str, Any]) -> None:
    """From each point to the next, and back to the first."""
    if path:
        axes.plot(*zip(*path, path[0], strict=True), solid_capstyle="round", **look)
