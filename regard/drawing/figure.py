"""The style of all figures, and how they become SVG or PNG files.

matplotlib is imported when a figure is drawn: it takes a second, which no other command should pay.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import UsageError
from regard.files import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#0550ae", "#cf222e", "#1a7f37", "#8250df", "#bc4c00", "#0a7c83", "#bf3989", "#57606a")
DASHES = ("-", "--", ":", "-.")
"""After eight lines the colours repeat, with other dashes."""

LABEL_MAX_LETTERS = 64
PNG_DPI = 120

STYLE: Any = {
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#57606a",
    "axes.axisbelow": True,
    "grid.color": "#d8dee4",
    "text.color": "#1f2328",
    "axes.labelcolor": "#1f2328",
    "xtick.color": "#1f2328",
    "ytick.color": "#1f2328",
    "legend.frameon": False,
    "text.parse_math": False,  # a $ in a name is a $
    "svg.fonttype": "none",  # text stays text, in the reader's fonts
    "svg.hashsalt": "regard",  # ids, and so files, are the same each time
    "savefig.bbox": "tight",
    "savefig.facecolor": "white",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw and save inside this; matplotlib reads some of its settings only when it saves."""
    from matplotlib import rc_context

    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)  # it announces font caches
    try:
        with rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            yield
    finally:
        log.setLevel(level)


def panels(heights: Sequence[float], width: float = 6.4) -> tuple[Figure, list[Axes]]:
    """A figure of panels one below the other; sizes in inches, labels and titles not included."""
    from matplotlib.figure import Figure

    gap = 0.9
    whole = sum(heights) + gap * (len(heights) - 1)
    figure = Figure(figsize=(width, whole))
    axes, top = [], whole
    for height in heights:
        axes.append(figure.add_axes((0, (top - height) / whole, 1, height / whole)))
        top -= height + gap
    return figure, axes


def add_legend(axes: Axes, lines: Sequence[Any], names: Sequence[str]) -> None:
    """Names to the right of the panel; matplotlib by itself hides those that begin with _."""
    legend = axes.legend(
        lines, ["line"] * len(lines), loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(printable(name))


def line_style(number: int) -> dict[str, Any]:
    """Of the n-th line of a panel, counted from 0."""
    dashes = DASHES[number // len(PALETTE) % len(DASHES)]
    return {"color": PALETTE[number % len(PALETTE)], "linestyle": dashes, "linewidth": 1.5}


def printable(text: str) -> str:
    """One short line of visible characters, whatever a user called something."""
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return shown if len(shown) <= LABEL_MAX_LETTERS else shown[: LABEL_MAX_LETTERS - 1] + "…"


def save(figure: Figure, path: Path) -> None:
    """Write a .svg or .png file; to be called inside `style()`."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise UsageError(f"Cannot write a figure as '{path.suffix}': choose .svg or .png.")
    with writing(path) as stream:
        _write(figure, stream, kind)


def to_svg(figure: Figure) -> str:
    """An <svg> element to embed in a page; to be called inside `style()`."""
    stream = io.BytesIO()
    _write(figure, stream, "svg")
    text = stream.getvalue().decode("utf-8")
    return text[text.index("<svg") :]


def _write(figure: Figure, stream: Any, kind: str) -> None:
    facts = dict.fromkeys(("Date", "Creator", "Format", "Type")) if kind == "svg" else {}
    figure.savefig(stream, format=kind, dpi=PNG_DPI if kind == "png" else 72, metadata=facts)
