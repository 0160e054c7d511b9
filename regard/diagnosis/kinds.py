"""The kinds of damage that are looked for, the gravest first: it is the reason of a removal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.uint32]
"""For each pair of a block, a bit for each kind."""


class Kind(NamedTuple):
    """`notable` is the smallest share of the pairs that makes it a warning; `says` completes a
    sentence that begins with a number of pairs; `explains` is whether a pair that has it looks
    unrelated for this reason alone."""

    name: str
    says: str
    notable: float
    may_be_task: bool = False
    explains: bool = False


KINDS = (
    Kind("unusable", "cannot be used: a side is missing or not text", 0.01),
    Kind("misaligned", "are in stretches where source and target do not belong together", 0.0),
    Kind(
        "encoding",
        "have remains of a wrong conversion to UTF-8, such as 'Ã¤'",
        0.001,
        explains=True,
    ),
    Kind("control", "have control characters or others that do not belong in text", 0.001, True),
    Kind("markup", "have tags or character references of HTML", 0.001, True),
    Kind("untranslated", "have a target that repeats the source", 0.005, True, True),
    Kind(
        "script", "have a line in a different script from the rest of its side", 0.001, True, True
    ),
    Kind(
        "language",
        "have a line in a different language from the rest of its side",
        0.005,
        True,
        True,
    ),
    Kind("length", "have a side that is far too long or too short for the other", 0.005, True),
    Kind("unrelated", "have sides that seem to have nothing to do with each other", 0.01),
    Kind("overlap", "are validation or test pairs as well", 0.0),
    Kind("duplicate", "repeat an earlier pair", 0.1),
    Kind("near-duplicate", "nearly repeat an earlier pair", 0.1),
)
NAMES = tuple(kind.name for kind in KINDS)
_BITS = {name: np.uint32(1 << number) for number, name in enumerate(NAMES)}


def mark(marks: Marks, name: str, found: NDArray[np.bool_]) -> None:
    """Note that the pairs that were found have this kind of damage."""
    marks[found] |= _BITS[name]


def has(marks: Marks, name: str) -> NDArray[np.bool_]:
    return np.asarray(marks & _BITS[name] > 0)


def explained(marks: Marks) -> NDArray[np.bool_]:
    """Pairs that look unrelated because of what is wrong with one of their lines."""
    return np.asarray(marks & bits_of(kind.name for kind in KINDS if kind.explains) > 0)


def names_of(bits: int) -> list[str]:
    """The kinds of one pair, the gravest first."""
    return [name for name in NAMES if bits & int(_BITS[name])]


def bits_of(names: Iterable[str]) -> np.uint32:
    return np.uint32(sum(int(_BITS[name]) for name in names))
