"""The result of a study as a file, so that a long series of studies resumes where it stopped."""

from __future__ import annotations

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
from regard.processes.cores import available_cores
from regard.studies.base import Check, Finding, Number

CIRCUMSTANCES = ("seconds", "processor_seconds", "facts", "machine", "day")

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
    """What the result of a study depends on: its own code, the effort and the seeds."""
    digest = hashlib.sha256(module.read_bytes()).hexdigest()[:16]
    return {
        "version": __version__,
        "code": digest,
        "quick": quick,
        "seeds": list(seeds),
    }


def result_of(
    finding: Finding, seconds: float, processor_seconds: float, facts: Mapping[str, Any]
) -> Result:
    machine = f"{available_cores()} cores, {platform.machine()}, Python {platform.python_version()}"
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
