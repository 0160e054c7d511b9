"""The figure of a ladder: the score of each variant, and how it changes with the length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from regard.drawing.figure import (
    PALETTE,
    add_legend,
    line_style,
    panels,
    printable,
    save,
    style,
    to_svg,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_HEIGHT = 0.3
LEGEND_LINE_HEIGHT = 0.23
LENGTHS_HEIGHT = 2.6
"""Inches."""


@dataclass(frozen=True)
class Bar:
    """The score of one variant, its confidence interval, and its score in each length bucket."""

    name: str
    value: float
    interval: Optional[tuple[float, float]]
    by_length: Sequence[float]


def save_ladder(path: Path, title: str, bars: Sequence[Bar], lengths: Sequence[str]) -> None:
    """As .svg or .png; `title` says which score it is, `lengths` names the buckets."""
    with style():
        save(_figure(title, bars, lengths), path)


def ladder_svg(title: str, bars: Sequence[Bar], lengths: Sequence[str]) -> str:
    """The same figure as an <svg> element to embed in a page."""
    with style():
        return to_svg(_figure(title, bars, lengths))


def _figure(title: str, bars: Sequence[Bar], lengths: Sequence[str]) -> Figure:
    below = max(LENGTHS_HEIGHT, LEGEND_LINE_HEIGHT * len(bars))
    figure, (above, under) = panels([BAR_HEIGHT * max(1, len(bars)), below])
    above.set_title(printable(f"{title} with 95 % confidence intervals"))
    under.set_title(printable(f"{title} by number of source words"))
    _draw_bars(above, bars)
    _draw_lengths(under, bars, lengths)
    return figure


def _draw_bars(axes: Axes, bars: Sequence[Bar]) -> None:
    for number, bar in enumerate(bars):
        colour = PALETTE[number % len(PALETTE)]
        (drawn,) = axes.barh(number, bar.value, height=0.6, color=colour, alpha=0.6)
        drawn.set_gid(f"bar-{number}")
        low, high = bar.interval or (bar.value, bar.value)
        if bar.interval is not None:
            sides = [[max(0.0, bar.value - low)], [max(0.0, high - bar.value)]]
            interval = axes.errorbar(
                bar.value, number, xerr=sides, fmt="none", ecolor="#1f2328", capsize=3
            )
            interval.lines[2][0].set_gid(f"interval-{number}")
        axes.annotate(
            f"{bar.value:.1f}", (high, number), (5, 0), textcoords="offset points", va="center"
        )
    axes.set_yticks(range(len(bars)), [printable(bar.name) for bar in bars])
    axes.set_ylim(max(1, len(bars)) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")


def _draw_lengths(axes: Axes, bars: Sequence[Bar], lengths: Sequence[str]) -> None:
    lines = []
    for number, bar in enumerate(bars):
        points = range(len(bar.by_length))
        (line,) = axes.plot(points, bar.by_length, marker="o", markersize=4, **line_style(number))
        line.set_gid(f"by-length-{number}")
        lines.append(line)
    axes.set_xticks(range(len(lengths)), [printable(each) for each in lengths])
    axes.set_xlim(-0.5, max(1, len(lengths)) - 0.5)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    if bars:
        add_legend(axes, lines, [bar.name for bar in bars])
