"""The table and the figure of a ladder as Markdown, HTML, SVG, PNG and JSON files."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Optional

from regard.drawing.ladder import Bar, ladder_svg, save_ladder
from regard.files import write_json, write_text
from regard.ladders.measure import BEAM, TIMING_BATCH, Estimate, Measurement
from regard.ladders.variants import Variant
from regard.messages import counted

STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;
background:#fff;color:#1f2328}
div{overflow-x:auto}table{border-collapse:collapse;font-size:.875rem;margin:1rem 0}
th,td{padding:.3rem .7rem;text-align:right;border-bottom:1px solid #d0d7de}
th:first-child,td:first-child,td[colspan]{text-align:left}li{overflow-wrap:anywhere}
svg{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}
th,td{border-color:#30363d}}
"""


@dataclass(frozen=True)
class VariantResult:
    """A variant and its measurement, or the problem that ended its training."""

    variant: Variant
    measured: Optional[Measurement]
    problem: str = ""


@dataclass(frozen=True)
class Table:
    """Cells of plain text under a title; the first row is the header.

    In a row with fewer cells than the header, the last one spans the rest.
    """

    title: str
    cells: Sequence[Sequence[str]]


def write_report(folder: Path, results: Sequence[VariantResult], notes: Sequence[str]) -> None:
    """Write ladder.md, .html, .svg, .png and .json; `notes` say how the numbers were made."""
    measured = [(each.variant.name, each.measured) for each in results if each.measured is not None]
    title = f"{_label(results)} (beam {BEAM})"
    bars = [_bar(name, found) for name, found in measured]
    lengths = [bucket.range for bucket in measured[0][1].by_length] if measured else []
    tables = [_numbers(results)]
    if measured:
        tables.append(_lengths(title, measured))
    told = [*notes, *_explanations(results)]
    variants = [
        {
            **asdict(each.variant),
            **(asdict(each.measured) if each.measured else {"problem": each.problem}),
        }
        for each in results
    ]
    write_json(folder / "ladder.json", {"notes": told, "variants": variants})
    for ending in ("svg", "png"):
        save_ladder(folder / f"ladder.{ending}", title, bars, lengths)
    write_text(folder / "ladder.md", _markdown(tables, told, title))
    write_text(folder / "ladder.html", _page(tables, told, ladder_svg(title, bars, lengths)))


def _label(results: Sequence[VariantResult]) -> str:
    """The metric of all variants, which are measured on the same lines."""
    labels = dict.fromkeys(each.measured.metric for each in results if each.measured)
    return " / ".join(labels) or "score"


def _bar(name: str, measured: Measurement) -> Bar:
    by_length = [bucket.score.value for bucket in measured.by_length]
    return Bar(name, measured.beam.value, _interval(measured.beam), by_length)


def _interval(score: Estimate) -> Optional[tuple[float, float]]:
    """The confidence interval, as far as percentages go; error rates and lengths go above 100."""
    if score.margin is None:
        return None
    most = math.inf if score.value > 100 else 100.0
    return max(0.0, score.value - score.margin), min(most, score.value + score.margin)


def _numbers(results: Sequence[VariantResult]) -> Table:
    label = _label(results)
    head = [
        "variant",
        "parameters",
        "tokenizer",
        "steps",
        "minutes",
        "training tokens/s",
        "perplexity per piece",
        "perplexity per word",
        f"{label} greedy",
        f"{label} beam {BEAM}",
        "sentences/s, batch 1",
        f"sentences/s, batch {TIMING_BATCH}",
    ]
    return Table("All variants", [head, *map(_cells, results)])


def _cells(result: VariantResult) -> list[str]:
    found = result.measured
    if found is None:
        return [result.variant.name, result.problem]
    return [
        result.variant.name,
        f"{found.parameters:,}",
        found.tokenizer,
        f"{found.steps:,}",
        _number(found.minutes),
        _number(found.tokens_per_second),
        _number(found.perplexity),
        _number(found.word_perplexity),
        str(found.greedy),
        str(found.beam),
        _number(found.speed_single),
        _number(found.speed_batched),
    ]


def _lengths(title: str, measured: Sequence[tuple[str, Measurement]]) -> Table:
    """All variants are measured on the same lines, so the buckets are the same."""
    buckets = measured[0][1].by_length
    head = ["variant", *(f"{each.range} ({counted(each.lines, 'line')})" for each in buckets)]
    rows = ([name, *(str(each.score) for each in found.by_length)] for name, found in measured)
    return Table(f"{title} by number of source words", [head, *rows])


def _number(value: Optional[float]) -> str:
    if value is None:
        return "–"
    if value >= 1e7:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def _explanations(results: Sequence[VariantResult]) -> list[str]:
    variants = [
        f"{variant.name} is {variant.recipe} with {', '.join(variant.settings) or 'no change'}."
        for variant in (each.variant for each in results)
        if variant != Variant(variant.name, variant.name)
    ]
    signatures = dict.fromkeys(
        f"{each.measured.metric}: {each.measured.signature}" for each in results if each.measured
    )
    return [
        *variants,
        "Minutes count the updates only; tokens/s are target pieces, the median over training.",
        "Sentences/s: greedy search from text to text, in one process with one thread.",
        "± is half the width of a 95 % confidence interval, by bootstrap.",
        *signatures,
    ]


def _markdown(tables: Sequence[Table], notes: Sequence[str], title: str) -> str:
    numbers, *others = (_markdown_table(table) for table in tables)
    listed = "\n".join(f"- {_plain(note)}" for note in notes)
    figure = f"![{_plain(title)} of each variant, and by length](ladder.svg)"
    return "\n\n".join(["# Ladder", numbers, figure, *others, "## Notes", listed]) + "\n"


def _markdown_table(table: Table) -> str:
    width = len(table.cells[0])
    whole = ([*cells, *[""] * (width - len(cells))] for cells in table.cells)
    head, *rows = (f"| {' | '.join(map(_plain, cells))} |" for cells in whole)
    ruler = "|---|" + "---:|" * (width - 1)
    return "\n".join([f"## {_plain(table.title)}\n", head, ruler, *rows])


def _plain(text: str) -> str:
    """Text that Markdown shows literally, on one line."""
    return re.sub(r"([\\`*<|\[])", r"\\\1", " ".join(text.split()))


def _page(tables: Sequence[Table], notes: Sequence[str], figure: str) -> str:
    numbers, *others = (_html_table(table) for table in tables)
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Ladder</title><style>{STYLE}</style></head><body><h1>Ladder</h1>"
        f"{numbers}{figure}{''.join(others)}<h2>Notes</h2><ul>{listed}</ul></body></html>\n"
    )


def _html_table(table: Table) -> str:
    head, *rows = table.cells
    names = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(_html_row(cells, len(head)) for cells in rows)
    return (
        f"<h2>{escape(table.title)}</h2><div><table><thead><tr>{names}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _html_row(cells: Sequence[str], width: int) -> str:
    *before, last = cells
    span = f' colspan="{width - len(before)}"' if len(cells) < width else ""
    first = "".join(f"<td>{escape(cell)}</td>" for cell in before)
    return f"<tr>{first}<td{span}>{escape(last)}</td></tr>"
