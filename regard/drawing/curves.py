"""The curves of a run as one SVG file that any browser shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.files import write_text
from regard.training.journal import Journal

Points = list[tuple[float, float]]

WIDTH, HEIGHT, MARGIN = 640, 300, 50
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37")


def draw_curves(journal: Journal, path: Path) -> None:
    """Training and validation loss, and below them the validation score."""
    records = list(journal)
    loss = [(r["step"], r["loss"]) for r in records if r["event"] == "train"]
    validations = [r for r in records if r["event"] == "validation"]
    names = [name for name in (validations[0] if validations else {}) if name not in NOT_SCORES]
    charts = [
        chart(
            "loss per token",
            [("training", loss), ("validation", [(r["step"], r["loss"]) for r in validations])],
        ),
        *(chart(n, [("validation", [(r["step"], r[n]) for r in validations])]) for n in names),
    ]
    parts = [f'<g transform="translate(0,{i * HEIGHT})">{c}</g>' for i, c in enumerate(charts)]
    write_text(
        path,
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT * len(charts)}" '
        'font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n',
    )


NOT_SCORES = ("event", "step", "loss")


def chart(title: str, lines: Sequence[tuple[str, Points]]) -> str:
    """A line for each named list of points, with axes, in SVG."""
    lines = [(name, points) for name, points in lines if points]
    if not lines:
        return f'<text x="{MARGIN}" y="20">{title}: nothing yet</text>'
    every = [point for _, points in lines for point in points]
    right = max(x for x, _ in every)
    low, high = min(y for _, y in every), max(y for _, y in every)
    span = (high - low) or 1.0

    def place(x: float, y: float) -> str:
        across = MARGIN + x / (right or 1) * (WIDTH - 2 * MARGIN)
        down = HEIGHT - MARGIN - (y - low) / span * (HEIGHT - 2 * MARGIN)
        return f"{across:.1f},{down:.1f}"

    drawn = [f'<text x="{MARGIN}" y="24" font-weight="bold">{title}</text>']
    for tick in range(5):
        value = low + span * tick / 4
        down = HEIGHT - MARGIN - tick / 4 * (HEIGHT - 2 * MARGIN)
        drawn.append(
            f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{down}" y2="{down}" stroke="#ddd"/>'
            f'<text x="{MARGIN - 6}" y="{down + 4}" text-anchor="end">{value:.3g}</text>'
        )
    for number, (name, points) in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(place(x, y) for x, y in points)
        drawn.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
            f'<text x="{WIDTH - MARGIN}" y="{24 + 16 * number}" fill="{colour}" '
            f'text-anchor="end">{name}</text>'
        )
    drawn.append(
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - MARGIN + 20}" text-anchor="end">'
        f"step {right:,.0f}</text>"
    )
    return "".join(drawn)
