"""The report as one offline page with figures and examples; whatever a corpus has is text here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from regard.diagnosis.kinds import KINDS
from regard.diagnosis.report import Example, Finding, Report
from regard.diagnosis.tally import LENGTH_STEP, RATIO_STEP
from regard.drawing.charts import Bars, Chart, Lines
from regard.drawing.document import charts, document, table
from regard.files import write_text
from regard.messages import counted, percent


def save_page(report: Report, path: Path) -> None:
    write_text(path, page(report))


def page(report: Report) -> str:
    title = "regard doctor"
    parts = [
        f"<h1>{escape(', '.join(report.files))}</h1>",
        f'<p class="claim">{escape(report.headline)}</p>',
        _findings(report.findings),
        _facts(report),
        charts(_charts(report), "Damage, lengths and ratios of the corpus"),
        *(_examples(each) for each in report.findings if each.examples),
        f"<h2>What is looked for</h2>{_kinds(report.damage, report.pairs)}",
    ]
    look = (
        files("regard.diagnosis")
        .joinpath("static")
        .joinpath("doctor.css")
        .read_text(encoding="utf-8")
    )
    return document(title, look, "".join(parts))


def _findings(findings: Sequence[Finding]) -> str:
    if not findings:
        return "<p>Nothing was found.</p>"
    rows = "".join(
        f'<tr><td class="{each.level}">{each.level}</td><td>{escape(_visible(each.sentence))}</td>'
        "</tr>"
        for each in findings
    )
    return f"<h2>Findings</h2><table><tbody>{rows}</tbody></table>"


def _facts(report: Report) -> str:
    return f"<h2>The corpus</h2>{table(('', ''), report.facts)}"


def _charts(report: Report) -> list[Chart]:
    kinds = {
        name: (100 * count / max(1, report.pairs), 0.0) for name, count in report.damage.items()
    }
    steps = max(
        (i + 1 for side in report.sides for i, n in enumerate(side.lengths) if n), default=1
    )
    lines = {
        side.name: [(i * LENGTH_STEP, count) for i, count in enumerate(side.lengths[: steps + 1])]
        for side in report.sides
    }
    drawn: list[Chart] = [
        Bars("Pairs with damage", "% of the pairs", kinds or {"none": (0.0, 0.0)}),
    ]
    if lines:
        drawn.append(Lines("Lengths", "words, in steps of five", "lines", lines))
    if report.ratio is not None:
        ratios = [(round(i * RATIO_STEP, 2), count) for i, count in enumerate(report.ratios)]
        label = "characters of the target per character of the source"
        drawn.append(Lines("Ratios", label, "pairs", {"pairs": ratios}))
    return drawn


def _examples(finding: Finding) -> str:
    rows = "".join(_example(each) for each in finding.examples)
    head = "<tr><th>line</th><th>source</th><th>target</th></tr>"
    title = f"{finding.kind}: {counted(finding.count, 'pair')}"
    return f"<h2>{escape(title)}</h2><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _example(example: Example) -> str:
    texts = "".join(
        f'<td class="text" dir="auto">{escape(_visible(text))}</td>'
        for text in (example.source, example.target)
    )
    where = escape(_visible(example.where)).replace("/", "/<wbr>")
    return f'<tr><td class="where">{where}</td>{texts}</tr>'


def _kinds(damage: Mapping[str, int], pairs: int) -> str:
    rows = [
        (kind.name, f"pairs that {kind.says}", f"{damage.get(kind.name, 0):,}") for kind in KINDS
    ]
    shares = [percent(damage.get(kind.name, 0), pairs) for kind in KINDS]
    cells = [(*row, share) for row, share in zip(rows, shares, strict=True)]
    return table(("kind", "", "pairs", "share"), cells)


def _visible(text: str) -> str:
    """Control characters as their pictures, and direction marks and lone surrogates as boxes: what
    is damaged should be seen, and cannot change the page around it."""
    return "".join(
        letter if letter.isprintable() or letter == "\u3000" else _picture(letter)
        for letter in text
    )


def _picture(letter: str) -> str:
    code = ord(letter)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"[U+{code:04X}]"
