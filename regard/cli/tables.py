"""Tables for people: names on the left, values on the right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

NAMES = {
    "run": "run",
    "model": "model",
    "languages": "languages",
    "parameters": "parameters",
    "vocabulary": "vocabulary",
    "pairs": "pairs",
    "trained_to": "trained to step",
    "steps": "of steps",
    "used_checkpoint": "best checkpoint",
    "validation": "last validation",
}


def print_facts(facts: Mapping[str, Any]) -> None:
    """What `describe` says of a run, and its settings by section."""
    _print({name: facts.get(key) for key, name in NAMES.items()})
    for section, values in facts["config"].items():
        print()
        _print(dict(_leaves(values, f"{section}.")))


def _print(rows: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="bold", min_width=28)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(Text(name), Text(_show(value)))
    Console(highlight=False, emoji=False).print(table)


def _show(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_show(each)}" for name, each in value.items() if name != "event")
    if isinstance(value, list):
        return ", ".join(map(_show, value)) or "–"
    return str(value)


def _leaves(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
