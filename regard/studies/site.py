"""Studies as a small site: one page per study and an index, which need no network and no script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Optional

from regard.drawing.charts import draw
from regard.drawing.figure import save, style
from regard.files import write_text
from regard.studies.base import Check, Study
from regard.studies.results import Result

MARKS = {True: "confirmed", False: "refuted", None: "undecided"}


def write_page(folder: Path, name: str, study: Study, result: Result) -> None:
    """The figure as NAME.svg, and the page that shows it as NAME.html."""
    figure: Optional[Path] = None
    if result.finding.charts:
        figure = folder / f"{name}.svg"
        with style():
            save(draw(result.finding.charts), figure)
    write_text(folder / f"{name}.html", _document(study.title, _study(study, result, figure)))


def write_index(folder: Path, results: Mapping[str, tuple[Study, Result]], total: int) -> None:
    """One table: claim, number, verdict, figure."""
    rows = "".join(_row(name, study, result) for name, (study, result) in results.items())
    count = f"{len(results)} of {total} studies" if len(results) < total else f"{total} studies"
    body = (
        f"<h1>Claims about sequence models, measured</h1><p>{count}, each measured on this "
        "machine by <code>regard study</code>. A verdict follows from checks against 95 % "
        "confidence intervals; open a study for its numbers, its figure and how to change it.</p>"
        "<table><thead><tr><th>study</th><th>claim</th><th>measured</th><th>verdict</th>"
        f"<th>figure</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    write_text(folder / "index.html", _document("Studies", body))


def _row(name: str, study: Study, result: Result) -> str:
    link = f'<a href="{name}.html">{escape(study.title)}</a>'
    figure = (
        f'<a href="{name}.html"><img class="small" src="{name}.svg" alt="Figure of {name}"></a>'
        if result.finding.charts
        else ""
    )
    cells = (link, escape(study.claim), escape(result.finding.headline), _badge(result), figure)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _badge(result: Result) -> str:
    verdict = result.finding.verdict
    return f'<span class="{verdict.replace(" ", "-")}">{verdict}</span>'


def _study(study: Study, result: Result, figure: Optional[Path]) -> str:
    finding = result.finding
    picture = ""
    if figure is not None:
        data = base64.b64encode(figure.read_bytes()).decode("ascii")
        picture = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(finding.headline)}">'
    numbers = _table(
        ("measured", "value"), [(name, str(value)) for name, value in finding.numbers.items()]
    )
    parts = [
        f'<p><a href="index.html">All studies</a></p><h1>{escape(study.title)}</h1>',
        f'<p class="claim">{escape(study.claim)}</p>',
        f"<p>{_badge(result)} {escape(finding.headline)} ({escape(finding.confidence)})</p>",
        picture,
        f"<h2>The formula</h2><pre>{escape(study.formula)}</pre>",
        f"<h2>The measurement</h2><p>{escape(study.method)}</p>{numbers}",
        f"<h2>The checks</h2>{_checks(finding.checks)}",
        f"<h2>How to change it</h2><p>{escape(study.change)}</p>",
        f"<h2>What it means when you train a model</h2><p>{escape(study.meaning)}</p>",
        f"<footer>{escape(_circumstances(result))}</footer>",
    ]
    return "".join(parts)


def _checks(checks: Sequence[Check]) -> str:
    rows = [(check.expected, check.measured, MARKS[check.holds]) for check in checks]
    return _table(("expected", "measured", ""), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def _circumstances(result: Result) -> str:
    facts = result.facts
    effort = "quick form, which only shows that the measurement responds" * bool(facts["quick"])
    seeds = f"seeds {', '.join(map(str, facts['seeds']))}"
    parts = (f"regard {facts['version']}", effort, seeds, result.machine, result.day)
    return f"{'; '.join(part for part in parts if part)}; {result.seconds:,.0f} s."


def _document(title: str, body: str) -> str:
    """A page without scripts, whose policy admits its own style and pictures only."""
    static = files("regard.studies").joinpath("static")
    look = static.joinpath("study.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(look.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src 'self' file: data:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{look}</style></head><body>{body}</body></html>\n"
    )
