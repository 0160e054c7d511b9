"""A picture once per written token, with the attention of that token laid over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from regard.drawing.figure import PALETTE, printable, save, style

WIDTH = 2.4
"""Inches of each picture."""

ACROSS = 4
MAX_HEIGHT = 60.0


def save_overlays(
    path: Path, overlays: Sequence[tuple[NDArray[Any], NDArray[Any]]], names: Sequence[str]
) -> None:
    """Pictures (height, width) with the weight of each pixel, and the token that was written, as
    .svg or .png.

    The colour grows with the square root of the weight, as on the page.
    """
    with style():
        from matplotlib.colors import to_rgba
        from matplotlib.figure import Figure

        rows = -(-len(names) // ACROSS)
        height, width = overlays[0][0].shape
        tall = min(MAX_HEIGHT / rows, WIDTH * height / width + 0.35)
        figure = Figure(figsize=(WIDTH * min(ACROSS, len(names)), tall * rows))
        for index, ((pixels, weights), name) in enumerate(zip(overlays, names, strict=True), 1):
            axes = figure.add_subplot(rows, min(ACROSS, len(names)), index)
            axes.imshow(pixels, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            colour = weights[:, :, None] * 0 + to_rgba(PALETTE[1])
            colour[:, :, 3] = 0.7 * weights.clip(0, 1) ** 0.5
            axes.imshow(colour, interpolation="nearest")
            axes.set_title(printable(name), loc="center")
            axes.set_axis_off()
        figure.tight_layout()
        save(figure, path)
