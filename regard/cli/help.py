"""Help for people: what to give, where the parser would show Python's types."""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperCommand

_TYPES = {
    "<path>": "FILE",
    "<list[Path]>": "FILE",
    "<str>": "TEXT",
    "<int>": "NUMBER",
    "<int range>": "NUMBER",
    "<float>": "NUMBER",
    "<float range>": "NUMBER",
}
"""What the help of an option shows for a type, unless the option has a name for its value."""


class Verb(TyperCommand):
    """A command whose help names no types: `RUN` and `--beam NUMBER`."""

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for each in self.get_params(ctx):
            kind = each.param_type_name
            if (record := each.get_help_record(ctx)) is not None:
                rows[kind].append((_shown(record[0], kind == "option"), record[1]))
        for kind, title in (("argument", "Arguments"), ("option", "Options")):
            if rows[kind]:
                with formatter.section(title):
                    formatter.write_dl(rows[kind])


def _shown(name: str, is_option: bool) -> str:
    """Without a type; only an option needs another word for it."""
    return re.sub(r" (<.*>)$", lambda found: f" {_TYPES[found[1]]}" if is_option else "", name)
