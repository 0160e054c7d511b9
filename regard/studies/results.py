"""The result of a study as a file, so that a long series of studies resumes where it stopped."""

from __future__ import annotations

import ast
import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Optional

from regard import __version__
from regard.drawing.charts import Bars, Chart, Lines, Map
from regard.errors import UsageError
from regard.files import read_json, write_json
from regard.messages import counted
from regard.processes.cores import available_cores
from regard.studies.base import Check, Finding, Number

CIRCUMSTANCES = ("seconds", "processor_seconds", "facts", "machine", "day")

PACKAGE = "regard.studies"

CHARTS: dict[str, type[Chart]] = {"lines": Lines, "bars": Bars, "map": Map}


@dataclass(frozen=True)
class Result:
    """A finding, and the circumstances under which it was made."""

    finding: Finding
    seconds: float
    processor_seconds: float  # depend less on what else the machine does
    facts: Mapping[str, Any]  # what it depends on: another of these makes the study run again
    machine: str
    day: str


def facts_of(module: Path, quick: bool, seeds: Sequence[int]) -> dict[str, Any]:
    """What the result of a study depends on: its code, the effort and the seeds."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources(module)))
    return {
        "version": __version__,
        "code": digest.hexdigest()[:16],
        "quick": quick,
        "seeds": list(seeds),
    }


def sources(module: Path) -> list[Path]:
    """The file of a study, and those of its folder that it imports, directly or not: settings that
    several studies share are part of each. What is imported inside a function is left out: it only
    shows results."""
    found, waiting = {module}, [module]
    while waiting:
        text = waiting.pop().read_text(encoding="utf-8")
        names = [name for node in ast.parse(text).body for name in _imported(node)]
        new = {module.with_name(f"{name}.py") for name in names} - found
        found |= new
        waiting += new
    return sorted(found)


def _imported(node: ast.stmt) -> list[str]:
    """The modules of this package that a statement imports."""
    if not isinstance(node, ast.ImportFrom) or node.module is None:
        return []
    if node.module == PACKAGE:
        return [each.name for each in node.names]
    package, _, name = node.module.rpartition(".")
    return [name] if package == PACKAGE else []


def result_of(
    finding: Finding, seconds: float, processor_seconds: float, facts: Mapping[str, Any]
) -> Result:
    cores = counted(available_cores(), "core")
    machine = f"{cores}, {platform.machine()}, Python {platform.python_version()}"
    day = date.today().isoformat()
    return Result(finding, seconds, processor_seconds, facts, machine, day)


def save_result(path: Path, result: Result) -> None:
    finding = result.finding
    names = {kind: name for name, kind in CHARTS.items()}
    write_json(
        path,
        {
            "headline": finding.headline,
            "verdict": finding.verdict,
            "numbers": {name: asdict(number) for name, number in finding.numbers.items()},
            "checks": [asdict(check) for check in finding.checks],
            "charts": [{"kind": names[type(chart)], **asdict(chart)} for chart in finding.charts],
            "seconds": round(result.seconds, 1),
            "processor_seconds": round(result.processor_seconds, 1),
            "facts": dict(result.facts),
            "machine": result.machine,
            "day": result.day,
        },
    )


def read_result(path: Path, facts: Mapping[str, Any]) -> Optional[Result]:
    """The stored result, if there is one and nothing that it depends on has changed."""
    if not path.exists():
        return None
    try:
        stored = read_json(path)
        if stored["facts"] != dict(facts):
            return None
        finding = Finding(
            stored["headline"],
            {name: Number(**number) for name, number in stored["numbers"].items()},
            tuple(Check(**check) for check in stored["checks"]),
            tuple(_chart(chart) for chart in stored["charts"]),
        )
        circumstances = (stored[name] for name in CIRCUMSTANCES)
        return Result(finding, *circumstances)
    except (KeyError, TypeError, AttributeError, UsageError):
        return None  # damaged, or of an earlier form: measured again


def _chart(stored: Mapping[str, Any]) -> Chart:
    values = dict(stored)
    return CHARTS[values.pop("kind")](**values)
