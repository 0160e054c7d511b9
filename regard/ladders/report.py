"""The table and the picture of a ladder as Markdown, HTML, SVG and JSON files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Optional

from regard.drawing.ladder import draw
from regard.files import write_json, write_text
from regard.ladders.measure import TOGETHER, WIDE, Row
from regard.ladders.variants import Variant

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
class Result:
    """A variant and what was measured of it, or the problem that ended its training."""

    variant: Variant
    row: Optional[Row]
    problem: str = ""


@dataclass(frozen=True)
class Table:
    """Cells of plain text under a heading; the first line is the head.

    In a line with fewer cells than that, the last one stands for the rest.
    """

    title: str
    cells: Sequence[Sequence[str]]


def write_report(folder: Path, results: Sequence[Result], notes: Sequence[str]) -> None:
    """Write ladder.md, ladder.html, ladder.svg and ladder.json; `notes` say what was done."""
    measured = [(each.variant.name, each.row) for each in results if each.row is not None]
    picture = draw([(name, row.beam, row.by_length) for name, row in measured])
    tables = [_numbers(results)]
    if measured:
        tables.append(_lengths(measured))
    said = [*notes, *_explanations(results)]
    variants = [
        {**asdict(each.variant), **(asdict(each.row) if each.row else {"problem": each.problem})}
        for each in results
    ]
    write_json(folder / "ladder.json", {"notes": said, "variants": variants})
    write_text(folder / "ladder.svg", picture)
    write_text(folder / "ladder.md", _markdown(tables, said))
    write_text(folder / "ladder.html", _page(tables, said, picture))


def _numbers(results: Sequence[Result]) -> Table:
    head = [
        "variant",
        "parameters",
        "tokenizer",
        "steps",
        "minutes",
        "training tokens/s",
        "perplexity a piece",
        "perplexity a word",
        "BLEU greedy",
        f"BLEU beam {WIDE}",
        "sentences/s, batch 1",
        f"sentences/s, batch {TOGETHER}",
    ]
    return Table("All variants", [head, *map(_cells, results)])


def _cells(result: Result) -> list[str]:
    row = result.row
    if row is None:
        return [result.variant.name, result.problem]
    return [
        result.variant.name,
        f"{row.parameters:,}",
        row.tokenizer,
        f"{row.steps:,}",
        _number(row.minutes),
        _number(row.tokens_per_second),
        _number(row.perplexity),
        _number(row.word_perplexity),
        str(row.greedy),
        str(row.beam),
        _number(row.one_at_a_time),
        _number(row.many_at_a_time),
    ]


def _lengths(measured: Sequence[tuple[str, Row]]) -> Table:
    """All variants are measured on the same lines, so the buckets are the same."""
    title = f"BLEU (beam {WIDE}) by number of source words"
    buckets = measured[0][1].by_length
    head = ["variant", *(f"{each.range} ({each.lines:,} lines)" for each in buckets)]
    rows = ([name, *(str(each.bleu) for each in row.by_length)] for name, row in measured)
    return Table(title, [head, *rows])


def _number(value: Optional[float]) -> str:
    if value is None:
        return "–"
    if value >= 1e7:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def _explanations(results: Sequence[Result]) -> list[str]:
    variants = [
        f"{variant.name} is {variant.recipe} with {', '.join(variant.settings) or 'no change'}."
        for variant in (each.variant for each in results)
        if variant != Variant(variant.name, variant.name)
    ]
    signatures = dict.fromkeys(each.row.signature for each in results if each.row)
    return [
        *variants,
        "Minutes are those of the updates alone; tokens are target pieces, the median of training.",
        "Sentences/s are of greedy search from text to text, in one process of one thread.",
        "± is half of a 95 % confidence interval, by bootstrap.",
        *(f"BLEU: {signature}" for signature in signatures),
    ]


def _markdown(tables: Sequence[Table], notes: Sequence[str]) -> str:
    numbers, *others = (_markdown_table(table) for table in tables)
    said = "\n".join(f"- {_plain(note)}" for note in notes)
    picture = "![BLEU of each variant, and by length](ladder.svg)"
    return "\n\n".join(["# Ladder", numbers, picture, *others, "## Notes", said]) + "\n"


def _markdown_table(table: Table) -> str:
    width = len(table.cells[0])
    whole = ([*cells, *[""] * (width - len(cells))] for cells in table.cells)
    head, *rows = (f"| {' | '.join(map(_plain, cells))} |" for cells in whole)
    ruler = "|---|" + "---:|" * (width - 1)
    return "\n".join([f"## {_plain(table.title)}\n", head, ruler, *rows])


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    return re.sub(r"([\\`*<|\[])", r"\\\1", " ".join(text.split()))


def _page(tables: Sequence[Table], notes: Sequence[str], picture: str) -> str:
    numbers, *others = (_html_table(table) for table in tables)
    said = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Ladder</title><style>{STYLE}</style></head><body><h1>Ladder</h1>"
        f"{numbers}{picture}{''.join(others)}<h2>Notes</h2><ul>{said}</ul></body></html>\n"
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
