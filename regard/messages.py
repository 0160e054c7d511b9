"""Parts of messages: the nearest name to an unknown one, a number with its noun."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable

INDICES = "none (indices)"
"""The target vocabulary of a model that writes indices."""


def unknown(kind: str, name: str, known: Iterable[str], full_name: str = "") -> str:
    """Say that a name does not exist, and suggest the nearest one, or else list all of them.

    The message uses its `full_name`, such as the dotted path of a setting.
    """
    names = list(known)
    lower = {each.lower(): each for each in reversed(names)}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    advice = f"Did you mean '{lower[close[0]]}'?" if close else _all(names)
    return f"There is no {kind} '{shortened(full_name or name)}'. {advice}"


def shortened(text: str) -> str:
    """The beginning of what was given, which may be a whole file by mistake."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 pair, 2,000 pairs."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(count: int, total: int) -> str:
    """A share as a percentage with two significant digits."""
    share = 100 * count / max(1, total)
    if share == 0 or share >= 10:
        return f"{share:.0f} %"
    return f"{share:.{min(4, 1 - math.floor(math.log10(share)))}f} %"


def _all(names: list[str]) -> str:
    if len(names) == 1:
        return f"The only one is '{names[0]}'."
    return f"Choose one of {', '.join(names)}." if names else "There are none here."
