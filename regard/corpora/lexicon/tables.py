"""Parsing of the plain-text tables of the lexicon into entries and rows."""

from __future__ import annotations

CONTINUATION = "\n" + 8 * " "
"""A line indented deeper than its table continues the row above it."""


def entries(table: str) -> list[str]:
    """The entries of a table, separated by semicolons and line ends."""
    parts = (part.strip() for part in table.replace("\n", ";").split(";"))
    return [part for part in parts if part]


def rows(table: str, separator: str = "") -> list[str]:
    """The rows of a table; continuation lines are joined by `separator`."""
    return [row.strip() for row in table.strip().replace(CONTINUATION, separator).split("\n")]
