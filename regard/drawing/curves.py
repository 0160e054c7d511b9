"""Curves: training and validation loss of a run, or any quantity over another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.drawing.figure import add_legend, line_style, panels, printable, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points = Sequence[tuple[float, float]]
Curves = Mapping[str, Mapping[str, Points]]
"""By the title of a panel and the name of a line."""

PANEL_HEIGHT = 2.6


def save_curves(path: Path, curves: Curves, x_label: str, log_scale: bool = False) -> None:
    """A panel for each title with a line for each name, as .svg or .png.

    With `log_scale` both axes are logarithmic; the ticks of the x axis are then the points.
    """
    with style():
        figure, axes = panels([PANEL_HEIGHT] * len(curves))
        for number, (title, lines) in enumerate(curves.items()):
            panel = axes[number]
            panel.set_title(printable(title))
            _draw(panel, lines, log_scale, f"panel-{number}")
            panel.set_xlabel(printable(x_label))
        save(figure, path)


def _draw(axes: Axes, lines: Mapping[str, Points], log_scale: bool, name: str) -> None:
    finite = {
        line: [(x, y) for x, y in points if math.isfinite(y) and (y > 0 or not log_scale)]
        for line, points in lines.items()
    }
    shown = {line: points for line, points in finite.items() if points}
    if not shown:
        axes.text(0.5, 0.5, "nothing yet", ha="center", transform=axes.transAxes)
        axes.set_xticks([])
        axes.set_yticks([])
        return
    drawn = []
    for number, points in enumerate(shown.values()):
        marker = "o" if len(points) == 1 or log_scale else ""
        (line,) = axes.plot(
            *zip(*points, strict=True), marker=marker, markersize=3, **line_style(number)
        )
        line.set_gid(f"{name}-curve-{number}")
        drawn.append(line)
    axes.grid(axis="y")
    if log_scale:
        _log_scale(axes, sorted({x for points in shown.values() for x, _ in points}))
    add_legend(axes, drawn, list(shown))


def _log_scale(axes: Axes, ticks: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")  # the default formatter writes TeX
    axes.yaxis.set_minor_formatter("")
