"""Charts that are plain data until they are drawn: lines, bars and maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional, Union

from regard.drawing.figure import PALETTE, add_legend, line_style, panels, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES_HEIGHT = 2.6
BAR_HEIGHT = 0.32
CELL_HEIGHT = 0.3
"""Inches."""


@dataclass(frozen=True)
class Lines:
    """A line for each name through its points (x, y); `level` is a horizontal line to compare."""

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    log_x: bool = False
    log_y: bool = False
    level: Optional[float] = None

    @property
    def height(self) -> float:
        return LINES_HEIGHT

    def draw(self, axes: Axes) -> None:
        drawn = []
        for number, points in enumerate(self.lines.values()):
            shown = [(x, y) for x, y in points if y > 0 or not self.log_y]
            marker = "o" if len(shown) <= 30 else ""
            xs, ys = [x for x, _ in shown], [y for _, y in shown]
            (line,) = axes.plot(xs, ys, marker=marker, markersize=3, **line_style(number))
            drawn.append(line)
        if self.level is not None:
            axes.axhline(self.level, color="#57606a", linestyle=":", linewidth=1)
        if self.log_x:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter("")
        if self.log_y:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")  # the default formatter writes TeX
            axes.yaxis.set_minor_formatter("")
        axes.set_xlabel(printable(self.x_label))
        axes.set_ylabel(printable(self.y_label))
        axes.grid(axis="y")
        add_legend(axes, drawn, list(self.lines))


@dataclass(frozen=True)
class Bars:
    """A bar for each name: its value and half of its confidence interval, 0 if not known."""

    title: str
    label: str
    bars: Mapping[str, tuple[float, float]]
    level: Optional[float] = None

    @property
    def height(self) -> float:
        return BAR_HEIGHT * max(1, len(self.bars))

    def draw(self, axes: Axes) -> None:
        for number, (value, margin) in enumerate(self.bars.values()):
            axes.barh(number, value, height=0.6, color=PALETTE[0], alpha=0.6)
            if margin:
                axes.errorbar(value, number, xerr=margin, fmt="none", ecolor="#1f2328", capsize=3)
            axes.annotate(
                f"{value:.3g}",
                (max(0.0, value + margin), number),
                (5, 0),
                textcoords="offset points",
                va="center",
            )
        if self.level is not None:
            axes.axvline(self.level, color="#57606a", linestyle=":", linewidth=1)
        axes.set_yticks(range(len(self.bars)), [printable(name) for name in self.bars])
        axes.set_ylim(max(1, len(self.bars)) - 0.5, -0.5)
        axes.set_xlabel(printable(self.label))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")


@dataclass(frozen=True)
class Map:
    """A table of values (rows, columns) as colours from the smallest to the largest."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]] = field(default=())

    @property
    def height(self) -> float:
        return CELL_HEIGHT * max(1, len(self.rows))

    def draw(self, axes: Axes) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        colours = LinearSegmentedColormap.from_list("values", ["white", PALETTE[0]])
        drawn = axes.pcolormesh(list(self.values), cmap=colours, edgecolors="white", linewidth=0.5)
        axes.figure.colorbar(drawn, ax=axes, pad=0.02)
        middles = ([index + 0.5 for index in range(len(n))] for n in (self.columns, self.rows))
        axes.set_xticks(next(middles), map(printable, self.columns), rotation=90, fontsize=8)
        axes.set_yticks(next(middles), map(printable, self.rows), fontsize=8)
        axes.invert_yaxis()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)


Chart = Union[Lines, Bars, Map]


def draw(charts: Sequence[Chart]) -> Figure:
    """One figure with a panel per chart, one below the other; to be called inside `style()`."""
    figure, every = panels([chart.height for chart in charts])
    for chart, axes in zip(charts, every, strict=True):
        axes.set_title(printable(chart.title))
        chart.draw(axes)
    return figure
