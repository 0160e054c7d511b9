"""Attention weights as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from regard.drawing.figure import PALETTE, panels, printable, save, style

CELL = 0.3
MAX_SIDE = 60.0
"""Inches; of more tokens than fit, the cells become smaller."""


def save_heat_map(
    path: Path, weights: NDArray[Any], rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Weights (T, S) with the names of the queries and of the keys, as .svg or .png.

    The colour grows with the square root of the weight, as on the page.
    """
    with style():
        from matplotlib.colors import LinearSegmentedColormap, PowerNorm

        cell = min(CELL, MAX_SIDE / max(len(rows), len(columns)))
        figure, (axes,) = panels([cell * len(rows)], cell * len(columns))
        colours = LinearSegmentedColormap.from_list("weights", ["white", PALETTE[0]])
        drawn = axes.pcolormesh(
            weights, cmap=colours, norm=PowerNorm(0.5, 0, 1), edgecolors="white", linewidth=0.5
        )
        drawn.set_gid("weights")
        font = min(9.0, 72 * cell * 0.7)
        middles = ([index + 0.5 for index in range(len(names))] for names in (columns, rows))
        axes.set_xticks(next(middles), map(printable, columns), rotation=90, fontsize=font)
        axes.set_yticks(next(middles), map(printable, rows), fontsize=font)
        axes.invert_yaxis()
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        save(figure, path)
