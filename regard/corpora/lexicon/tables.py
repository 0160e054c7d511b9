"""How the plain-text tables of the lexicon are cut into entries and rows."""

from __future__ import annotations

CONTINUATION = "\n" + 8 * " "
"""A line that is indented deeper than its table continues the row above it."""


def entries(table: str) -> list[str]:
    """The entries of a table, which end at a semicolon or with the line."""
    parts = (part.strip() for part in table.replace("\n", ";").split(";"))
    return [part for part in parts if part]


def rows(table: str, joint: str = "") -> list[str]:
    """The rows of a table; `joint` is put where a row was broken."""
    return [row.strip() for row in table.strip().replace(CONTINUATION, joint).split("\n")]
