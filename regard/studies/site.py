"""Studies as a small site: one page per study and an index, which need no network and no script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Optional

from regard.drawing.charts import draw
from regard.drawing.document import document
from regard.drawing.document import picture as embedded
from regard.drawing.figure import save, style, to_svg
from regard.files import write_text
from regard.studies.base import VERDICTS, Check, Finding, Study, Verdict
from regard.studies.results import Result

MARKS = {True: "confirmed", False: "refuted", None: "undecided"}
SIGNS = {
    "&lt;-": "←",
    "-&gt;": "→",
    "&gt;=": "≥",
    "&lt;=": "≤",
    " - ": " − ",
    "sqrt": "√",
    "'": "′",
    " .. ": " … ",
}
SCRIPTS = {"_": "sub", "^": "sup"}


def write_page(folder: Path, name: str, study: Study, result: Result) -> None:
    """The figure as NAME.svg, and the page that shows it as NAME.html."""
    figure: Optional[Path] = None
    if result.finding.charts:
        figure = folder / f"{name}.svg"
        with style():
            save(draw(result.finding.charts), figure)
    page = _document(study.title, "study", _study(study, result, figure))
    write_text(folder / f"{name}.html", page)


def write_index(folder: Path, results: Mapping[str, tuple[Study, Result]], total: int) -> None:
    """One table: claim, number, verdict, figure."""
    rows = "".join(_row(name, study, result) for name, (study, result) in results.items())
    count = f"{len(results)} of {total} studies" if len(results) < total else f"{total} studies"
    verdicts = Counter(result.finding.verdict for _, result in results.values())
    counts = ", ".join(f"{_badge(each)} {verdicts[each]}" for each in VERDICTS)
    body = (
        f"<h1>Claims about sequence models, measured</h1><p>{count}, each measured on this "
        "machine by <code>regard study</code>. The claims are those of lecture notes, in our own "
        "words. A verdict follows from checks against 95 % "
        "confidence intervals; open a study for its numbers, its figure and how to change it.</p>"
        f"<p>{counts}</p>{_caution(result for _, result in results.values())}"
        "<table><thead><tr><th>study</th><th>claim</th><th>measured</th><th>verdict</th>"
        f"<th>figure</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    write_text(folder / "index.html", _document("Studies", "index", body))


def _row(name: str, study: Study, result: Result) -> str:
    link = f'<a href="{name}.html">{escape(study.title)}</a>'
    figure = (
        f'<a href="{name}.html"><img src="{name}.svg" alt="Figure of {name}"></a>'
        if result.finding.charts
        else ""
    )
    finding = result.finding
    verdict = f"{_badge(finding.verdict)}<br>{_confidence(finding)}"
    cells = (link, _text(study.claim), _text(finding.headline), verdict, figure)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _badge(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{verdict}</span>'


def _confidence(finding: Finding) -> str:
    return f'<span class="confidence">{escape(finding.confidence)}</span>'


def summary(finding: Finding) -> str:
    """Verdict, figure, numbers and checks, without the style of a page."""
    picture = ""
    if finding.charts:
        with style():
            picture = f"<figure>{to_svg(draw(finding.charts))}</figure>"
    return (
        f"<p>{_badge(finding.verdict)} {_confidence(finding)}<br>{_text(finding.headline)}</p>"
        f"{picture}{_numbers(finding)}{_checks(finding.checks)}"
    )


def _numbers(finding: Finding) -> str:
    rows = [(_text(name), escape(str(value))) for name, value in finding.numbers.items()]
    return _table(("measured", "value"), rows)


def _study(study: Study, result: Result, figure: Optional[Path]) -> str:
    finding = result.finding
    picture = ""
    if figure is not None:
        shown = embedded(figure.read_bytes(), finding.headline)
        picture = f"<figure>{shown}</figure>"
    parts = [
        f'<p><a href="index.html">All studies</a></p><h1>{escape(study.title)}</h1>',
        f'<p class="claim">{_text(study.claim)}</p>',
        f'<p class="finding">{_badge(finding.verdict)} {_confidence(finding)}<br>'
        f"{_text(finding.headline)}</p>{_caution([result])}",
        picture,
        f'<h2>The formula</h2><p class="formula">{formula(study.formula)}</p>',
        f"<h2>The measurement</h2><p>{_text(study.method)}</p>",
        _numbers(finding),
        f"<h2>The checks</h2>{_checks(finding.checks)}",
        f"<h2>How to change it</h2><p>{_text(study.change)}</p>",
        f"<h2>What it means when you train a model</h2><p>{_text(study.meaning)}</p>",
        f"<footer>{escape(_circumstances(result))}</footer>",
    ]
    return "".join(parts)


def caution(facts: Iterable[Mapping[str, Any]]) -> str:
    """Why verdicts with these facts mean little, if they do: intervals need several seeds."""
    given = list(facts)
    if any(each["quick"] for each in given):
        return "The quick form shows how a study works: its verdicts mean nothing."
    if any(len(each["seeds"]) == 1 for each in given):
        return "One seed gives no intervals over seeds, so checks that need them mean little."
    return ""


def _caution(results: Iterable[Result]) -> str:
    said = caution(result.facts for result in results)
    return f'<p class="caution">{escape(said)}</p>' if said else ""


def _text(text: str) -> str:
    """Text with what is between backticks as code, and powers raised."""
    shown = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"(?<=\w)\^(-?[\w.]+\w|\w)", r"<sup>\1</sup>", shown)


def formula(text: str) -> str:
    """A formula in plain text, such as `h_(t-1)^2 <- sqrt(d)`, as HTML; a line for each part."""
    return "<br>".join(map(_line, text.split("; ")))


def _line(text: str) -> str:
    shown = re.sub(r"\b(sum|product)(?: over (\w+) of|_(\w+))", _total, text)
    shown = escape(shown, quote=False)
    for plain, sign in SIGNS.items():
        shown = shown.replace(plain, sign)
    for mark, tag in SCRIPTS.items():
        shown = re.sub(rf"\{mark}(?:\(([^()]*)\)|((?:&lt;)?\w+))", partial(_script, tag), shown)
    return shown


def _total(found: re.Match[str]) -> str:
    return f"{'Σ' if found[1] == 'sum' else '∏'}_{found[2] or found[3]}"


def _script(tag: str, found: re.Match[str]) -> str:
    return f"<{tag}>{found[1] or found[2]}</{tag}>"


def _checks(checks: Sequence[Check]) -> str:
    rows = [
        (
            _text(check.expected),
            _text(check.measured),
            f'<span class="{MARKS[check.holds]}">{MARKS[check.holds]}</span>',
        )
        for check in checks
    ]
    return _table(("expected", "measured", ""), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = "".join(f"<th>{each}</th>" for each in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="table"><table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )


def _circumstances(result: Result) -> str:
    facts = result.facts
    effort = "quick form, which only shows that the measurement responds" * bool(facts["quick"])
    seeds = f"seeds {', '.join(map(str, facts['seeds']))}"
    parts = (f"regard {facts['version']}", effort, seeds, result.machine, result.day)
    cost = f"{result.seconds:,.0f} s, {result.processor_seconds:,.0f} s of one core"
    return f"{'; '.join(part for part in parts if part)}; {cost}."


def _document(title: str, kind: str, body: str) -> str:
    """A page in the style of the studies."""
    static = files("regard.studies").joinpath("static")
    look = static.joinpath("study.css").read_text(encoding="utf-8")
    return document(title, look, body, kind)
