"""Tables for people: names on the left, values on the right."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Optional

from regard.messages import INDICES

UNFOLDED = 10_000
"""Columns for files and pipes, where a value stays in its line: `regard info RUN | grep model`."""


def print_facts(facts: Mapping[str, Any]) -> None:
    """What `describe` says of a run, and its settings by section."""
    languages = facts["languages"] or {}
    started = _started(facts) if "started_from" in facts else {}
    print_rows(
        {
            "run": facts["run"],
            "model": facts["model"],
            "languages": " to ".join(each or "?" for each in languages.values()) or None,
            **({"directions": ", ".join(facts["directions"])} if facts["directions"] else {}),
            "parameters": facts.get("parameters"),
            "vocabulary": _vocabulary(facts),
            "pairs": facts["pairs"],
            **started,
            **(_trained(facts) if facts["origin"] is None else {"this is": facts["origin"]}),
        }
    )
    for section, values in facts["config"].items():
        print()
        print_rows({name: _setting(value) for name, value in _leaves(values, f"{section}.")})


def _vocabulary(facts: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    sizes: Optional[dict[str, Any]] = facts.get("vocabulary")
    if sizes is None or sizes["target"] is not None:
        return sizes
    return {**sizes, "target": INDICES}


def _started(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Where it started from, and what that changed on the old and the new validation data."""
    from regard.runs.transfer import summary

    transfer = facts["transfer"]
    return {"started from": facts["started_from"], **(summary(transfer) if transfer else {})}


def _trained(facts: Mapping[str, Any]) -> dict[str, Any]:
    """How far training has come."""
    validation = dict(facts["validation"] or {})
    steps = "not known yet" if facts["steps"] is None else f"{facts['steps']:,}"
    return {
        "trained": f"{facts['trained_to']:,} of {steps} steps",
        "device": facts["device"],
        "best checkpoint": facts["used_checkpoint"] and f"step {facts['used_checkpoint']:,}",
        "last validation": {name: validation[name] for name in validation if name != "event"},
    }


def print_rows(rows: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="bold", min_width=31)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(Text(name), Text(_show(value)))
    width = None if sys.stdout.isatty() else UNFOLDED
    Console(highlight=False, emoji=False, width=width).print(table)


def _show(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_show(each)}" for name, each in value.items()) or "–"
    return str(value)


def _setting(value: Any) -> str:
    """As --set reads it."""
    return value if isinstance(value, str) else json.dumps(value)


def _leaves(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
