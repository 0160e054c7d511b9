"""A guard against looping output: a model that lost its way repeats the same words to the limit."""

from __future__ import annotations

import re

MAX_PERIOD = 12
"""Words, or characters where there are no spaces, in what is repeated."""

MAX_REPEATS = 3
"""Times in a row that are always allowed."""

_UNITS = re.compile(r"\S+")


def is_looping(text: str, source: str, prefix: str = "") -> bool:
    """Whether something is repeated more often in a row than allowed, than in the source, and than
    in what the text had to begin with."""
    most = max(MAX_REPEATS, repeats(_units(source)) + 1, repeats(_units(prefix)))
    return repeats(_units(text)) > most


def repeats(units: list[str]) -> int:
    """How often anything stands in a row, at most: 1 where nothing is repeated."""
    most = 1 if units else 0
    for period in range(1, MAX_PERIOD + 1):
        run = 0
        for index in range(period, len(units)):
            run = run + 1 if units[index] == units[index - period] else 0
            most = max(most, 1 + run // period)
    return most


def without_loop(text: str, prefix: str = "") -> str:
    """The text up to the end of the first loop, which is kept once, but all of its prefix."""
    matches = list(_UNITS.finditer(text)) if " " in text else list(re.finditer(r"\S", text))
    units = [match[0] for match in matches]
    for period in range(1, MAX_PERIOD + 1):
        run = 0
        for index in range(period, len(units)):
            run = run + 1 if units[index] == units[index - period] else 0
            if run >= period * MAX_REPEATS:
                return text[: max(matches[index - run + 1].start(), len(prefix))].rstrip()
    return text


def _units(text: str) -> list[str]:
    return text.split() if " " in text else list(text)
