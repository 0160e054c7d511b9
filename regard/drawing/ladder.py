"""The picture of a ladder in SVG: BLEU of each variant, and how it changes with the length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import count, takewhile

from regard.ladders.measure import Bucket, Estimate

WIDTH, MARGIN, LINE = 760, 50, 24
CHART = 280
LETTER = 7.5
"""About how wide a letter is, to leave room for names."""

LIGHT = ("#0550ae", "#cf222e", "#1a7f37", "#8250df", "#bc4c00", "#0a7c83", "#bf3989", "#57606a")
DARK = ("#58a6ff", "#ff7b72", "#3fb950", "#bc8cff", "#f0883e", "#39c5cf", "#f778ba", "#8b949e")


def draw(variants: Sequence[tuple[str, Estimate, Sequence[Bucket]]]) -> str:
    """A whole SVG file; it follows the reader's choice of light or dark."""
    bars = _bars([(name, bleu) for name, bleu, _ in variants])
    lines = _lines([(name, buckets) for name, _, buckets in variants])
    above, below = _bars_height(len(variants)), _lines_height(len(variants))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ladder" role="img" '
        f'viewBox="0 0 {WIDTH} {above + below}" width="{WIDTH}" height="{above + below}" '
        f'font-family="sans-serif" font-size="12">'
        f"<title>BLEU of each variant, and by length</title>"
        f"<style>{_style()}</style>"
        f'<rect class="ground" width="100%" height="100%"/>{bars}'
        f'<g transform="translate(0,{above})">{lines}</g></svg>\n'
    )


def _style() -> str:
    def colours(ground: str, ink: str, grid: str, palette: Sequence[str]) -> str:
        rules = [f".ladder .ground{{fill:{ground}}}.ladder text{{fill:{ink}}}"]
        rules.append(f".ladder .grid{{stroke:{grid}}}.ladder .margin{{stroke:{ink}}}")
        rules += (f".ladder .c{i}{{color:{colour}}}" for i, colour in enumerate(palette))
        return "".join(rules)

    light = colours("#ffffff", "#1f2328", "#d0d7de", LIGHT)
    dark = colours("#0d1117", "#e6edf3", "#30363d", DARK)
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


def ticks(high: float) -> list[float]:
    """Round numbers from 0 until one is not below `high`, three to six of them."""
    rough = (high or 1.0) / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough * 0.999)
    below = takewhile(lambda place: (place - 1) * step < high or place < 2, count())
    return [place * step for place in below]


def _bars_height(variants: int) -> int:
    return 2 * MARGIN + LINE * variants


def _bars(variants: Sequence[tuple[str, Estimate]]) -> str:
    """A bar for each variant with its confidence interval, one below the other."""
    left = MARGIN + LETTER * max((len(name) for name, _ in variants), default=0)
    marks = ticks(max((_ends(bleu)[1] for _, bleu in variants), default=0.0))
    scale = (WIDTH - 2 * MARGIN - left) / marks[-1]
    bottom = MARGIN + LINE * len(variants)
    drawn = [_title("BLEU (beam 5) with 95 % intervals")]
    for mark in marks:
        across = left + mark * scale
        drawn.append(
            f'<line class="grid" x1="{across:.1f}" x2="{across:.1f}" y1="{MARGIN}" y2="{bottom}"/>'
            f'<text x="{across:.1f}" y="{bottom + 16}" text-anchor="middle">{mark:g}</text>'
        )
    for number, (name, bleu) in enumerate(variants):
        down = MARGIN + LINE * number + LINE / 2
        drawn.append(
            f'<text x="{left - 8:.1f}" y="{down + 4}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="{_colour(number)}" fill="currentColor" fill-opacity="0.6" '
            f'x="{left:.1f}" y="{down - 7}" width="{bleu.value * scale:.1f}" height="14"/>'
            + _interval(bleu, left, scale, down)
        )
    return "".join(drawn)


def _ends(bleu: Estimate) -> tuple[float, float]:
    """The confidence interval, as far as BLEU goes."""
    margin = bleu.margin or 0.0
    return max(0.0, bleu.value - margin), min(100.0, bleu.value + margin)


def _interval(bleu: Estimate, left: float, scale: float, down: float) -> str:
    low, high = (left + end * scale for end in _ends(bleu))
    line = (
        f'<path class="margin" fill="none" d="M{low:.1f},{down - 4}v8M{low:.1f},{down}H{high:.1f}'
        f'M{high:.1f},{down - 4}v8"/>'
    )
    value = f'<text x="{high + 6:.1f}" y="{down + 4}">{bleu.value:.1f}</text>'
    return value if bleu.margin is None else line + value


def _lines_height(variants: int) -> int:
    return max(CHART, 2 * MARGIN + LINE * variants)


def _lines(variants: Sequence[tuple[str, Sequence[Bucket]]]) -> str:
    """BLEU over the buckets, a line for each variant, with their names on the right."""
    buckets = variants[0][1] if variants else ()
    right = WIDTH - MARGIN - LETTER * max((len(name) for name, _ in variants), default=0)
    bottom = _lines_height(len(variants)) - MARGIN
    marks = ticks(max((min(100.0, b.bleu.value) for _, row in variants for b in row), default=0.0))
    gap = (right - MARGIN) / max(1, len(buckets))

    def place(number: int, value: float) -> tuple[float, float]:
        return MARGIN + gap * (number + 0.5), bottom - value / marks[-1] * (bottom - MARGIN)

    drawn = [_title("BLEU (beam 5) by number of source words")]
    for mark in marks:
        down = place(0, mark)[1]
        drawn.append(
            f'<line class="grid" x1="{MARGIN}" x2="{right:.1f}" y1="{down:.1f}" y2="{down:.1f}"/>'
            f'<text x="{MARGIN - 6}" y="{down + 4:.1f}" text-anchor="end">{mark:g}</text>'
        )
    drawn += (
        f'<text x="{place(number, 0)[0]:.1f}" y="{bottom + 18}" text-anchor="middle">'
        f"{bucket.range}</text>"
        for number, bucket in enumerate(buckets)
    )
    for number, (name, row) in enumerate(variants):
        points = [place(i, bucket.bleu.value) for i, bucket in enumerate(row)]
        drawn.append(_line(number, name, points, right + 12))
    return "".join(drawn)


def _line(number: int, name: str, points: Sequence[tuple[float, float]], aside: float) -> str:
    """After eight variants the colours come again, with dashes."""
    dash = f' stroke-dasharray="{2 + 3 * (number // len(LIGHT))} 3"' if number >= len(LIGHT) else ""
    down = MARGIN + LINE * number
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points)
    return (
        f'<g class="{_colour(number)}" fill="currentColor"><polyline points="{path}" fill="none" '
        f'stroke="currentColor" stroke-width="2"{dash}/>{dots}'
        f'<path d="M{aside:.1f},{down}h18" stroke="currentColor" stroke-width="3"{dash}/></g>'
        f'<text x="{aside + 24:.1f}" y="{down + 4}">{escape(name)}</text>'
    )


def _title(text: str) -> str:
    return f'<text x="{MARGIN}" y="28" font-weight="bold" font-size="14">{text}</text>'


def _colour(number: int) -> str:
    return f"c{number % len(LIGHT)}"
