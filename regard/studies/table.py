"""What a folder of studies has measured, as a table in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from regard.errors import UsageError
from regard.studies import NAMES
from regard.studies.base import Study
from regard.studies.results import Result


def markdown(results: Mapping[str, tuple[Study, Result]], folder: Path) -> str:
    """One row per study, then what they cost, what was refuted, undecided or not measured."""
    if not results:
        raise UsageError(f"{folder} has no results of this version, effort and seeds.")
    rows = ["| study | claim | measured | verdict | checks |", "|---|---|---|---|---|"]
    rows += [_row(name, *each) for name, each in results.items()]
    found = [result for _, result in results.values()]
    missing = [f"`{name}`" for name in NAMES if name not in results]
    notes = [
        f"{len(found)} of {len(NAMES)} studies; {_several(found)}; "
        f"{sum(each.seconds for each in found) / 60:,.0f} minutes, "
        f"{sum(each.processor_seconds for each in found) / 60:,.0f} minutes of one core.",
    ]
    for title, holds in (("Refuted", False), ("Undecided", None)):
        listed = [_checks(name, result, holds) for name, (_, result) in results.items()]
        if any(listed):
            notes.append(f"{title}:\n\n" + "\n".join(filter(None, listed)))
    if missing:
        notes.append(f"Not measured: {', '.join(missing)}.")
    return "\n".join([*rows, "", "\n\n".join(notes)])


def _row(name: str, study: Study, result: Result) -> str:
    finding = result.finding
    cells = (f"`{name}`", study.title, finding.headline, finding.verdict, finding.confidence)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _checks(name: str, result: Result, holds: Optional[bool]) -> str:
    """A bullet for each check with this outcome."""
    checks = [check for check in result.finding.checks if check.holds is holds]
    return "\n".join(f"- `{name}`: {each.expected} ({each.measured})" for each in checks)


def _several(results: list[Result]) -> str:
    """The circumstances, each named once."""
    seeds = {", ".join(map(str, each.facts["seeds"])) for each in results}
    efforts = {"quick form" if each.facts["quick"] else "full form" for each in results}
    parts = (
        {f"regard {each.facts['version']}" for each in results},
        efforts,
        {f"seeds {each}" for each in seeds},
        {each.machine for each in results},
        {each.day for each in results},
    )
    return "; ".join(" and ".join(sorted(part)) for part in parts if part)
