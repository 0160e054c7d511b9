"""One heat map as a file: SVG by a few lines of our own, PNG by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import UsageError
from regard.files import write_text, writing

CELL, LETTER, MARGIN = 22, 7.2, 12
GROUND, ACCENT = (255, 255, 255), (5, 80, 174)


def save_heat_map(
    path: Path, weights: NDArray[Any], rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Weights (T, S) with the names of who looks and who is looked at, as .svg or .png."""
    if path.suffix.lower() == ".svg":
        write_text(path, heat_map(weights, rows, columns))
    elif path.suffix.lower() == ".png":
        _save_png(path, weights, rows, columns)
    else:
        raise UsageError(f"Cannot write a picture as '{path.suffix}': choose .html, .svg or .png.")


def heat_map(weights: NDArray[Any], rows: Sequence[str], columns: Sequence[str]) -> str:
    """A whole SVG file; the colour grows with the square root of the weight, as on the page."""
    left = MARGIN + LETTER * max(map(len, rows))
    top = MARGIN + LETTER * max(map(len, columns))
    width, height = left + CELL * len(columns) + MARGIN, top + CELL * len(rows) + MARGIN
    drawn = [_label(left - 6, top + CELL * row + 15, name, "end") for row, name in enumerate(rows)]
    drawn += (
        f'<g transform="translate({left + CELL * column + 15:.1f},{top - 6:.1f}) rotate(-90)">'
        f"{_label(0, 0, name, 'start')}</g>"
        for column, name in enumerate(columns)
    )
    drawn += (
        f'<rect x="{left + CELL * column:.1f}" y="{top + CELL * row:.1f}" width="{CELL - 1}" '
        f'height="{CELL - 1}" fill="{_colour(weight)}"><title>{weight:.4f}</title></rect>'
        for row, line in enumerate(weights.tolist())
        for column, weight in enumerate(line)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{''.join(drawn)}</svg>\n"
    )


def _label(x: float, y: float, text: str, anchor: str) -> str:
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(shown)}</text>'


def _colour(weight: float) -> str:
    share = float(np.sqrt(min(1.0, max(0.0, weight))))
    parts = (round(g + (a - g) * share) for g, a in zip(GROUND, ACCENT, strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)


def _save_png(
    path: Path, weights: NDArray[Any], rows: Sequence[str], columns: Sequence[str]
) -> None:
    try:
        from matplotlib.colors import LinearSegmentedColormap, PowerNorm
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(
            "PNG needs matplotlib: pip install 'regard[figures]', or save as .svg."
        ) from None
    size = (1.5 + 0.3 * len(columns), 1.5 + 0.3 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    ends = [tuple(part / 255 for part in colour) for colour in (GROUND, ACCENT)]
    colours = LinearSegmentedColormap.from_list("regard", ends)
    axes.imshow(weights, cmap=colours, norm=PowerNorm(0.5, 0, 1), aspect="equal")
    plain = ([name.replace("$", r"\$") for name in names] for names in (columns, rows))
    axes.set_xticks(range(len(columns)), next(plain), rotation=90)
    axes.set_yticks(range(len(rows)), next(plain))
    axes.xaxis.tick_top()
    with writing(path) as stream:
        figure.savefig(stream, format="png", dpi=120)
