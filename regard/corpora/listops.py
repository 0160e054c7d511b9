"""ListOps (Nangia and Bowman 2018, arXiv 1804.06028): nested lists of digits to one digit.

`[MAX 2 9 [MIN 4 7 ] 0 ]` is 9. The answer hangs on tokens that may stand far apart, so it shows
what a way of mixing places can and cannot carry.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from regard.files import write_text

LONGEST = 200
SHORTEST = 4
"""Tokens of an expression: an operator, two digits and the bracket that closes it."""

ARGUMENTS = 5
DEEPEST = 10
LARGEST = 2_000_000


def median(values: list[int]) -> int:
    """The middle value; of an even number, the mean of the two middle ones, rounded down."""
    ranked, middle = sorted(values), len(values) // 2
    return ranked[middle] if len(values) % 2 else (ranked[middle - 1] + ranked[middle]) // 2


def sum_modulo(values: list[int]) -> int:
    return sum(values) % 10


OPERATORS: dict[str, Callable[[list[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": median,
    "[SM": sum_modulo,
}
NAMES = tuple(OPERATORS)
DIGITS = tuple("0123456789")


@dataclass(frozen=True)
class Pair:
    """An expression and the digit it comes to."""

    source: str
    target: str


@dataclass(frozen=True)
class Corpus:
    """Three lists without an expression in common."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def value_of(expression: str) -> int:
    """The digit that an expression comes to; what is none is refused."""
    open_lists: list[tuple[str, list[int]]] = []
    found: list[int] = []
    for token in expression.split():
        if found and not open_lists:
            raise ValueError(f"'{token}' stands behind the end of the expression.")
        values = open_lists[-1][1] if open_lists else found
        if token in OPERATORS:
            open_lists.append((token, []))
        elif token in DIGITS:
            values.append(int(token))
        elif token == "]" and open_lists and values:
            name, values = open_lists.pop()
            outer = open_lists[-1][1] if open_lists else found
            outer.append(OPERATORS[name](values))
        else:
            raise ValueError(f"'{token}' has no place in the expression.")
    if open_lists or not found:
        raise ValueError("The expression has no end.")
    return found[0]


def generate(pairs: int, seed: int = 1, held_out: int = 1000) -> Corpus:
    """Write a corpus: `pairs` for training, and `held_out` each for validation and test.

    Test and validation are drawn first, so they stay the same when the training set grows.
    """
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    if pairs + 2 * held_out > LARGEST:
        raise ValueError(f"At most {LARGEST} pairs are made, training, valid and test together.")
    seen: set[str] = set()
    test, valid, train = (
        draw(count, random.Random(f"{seed} listops {part}"), seen)
        for part, count in (("test", held_out), ("valid", held_out), ("train", pairs))
    )
    return Corpus(train, valid, test)


def draw(count: int, chance: random.Random, seen: set[str]) -> list[Pair]:
    """Draw new expressions, as many of 10 to 20 tokens as of 100 to 200; `seen` grows.

    What a list comes to is learned from short ones, and only then of use in long ones. Of the
    shortest there are only hundreds, so one that is known gives way to another length.
    """
    drawn: list[Pair] = []
    while len(drawn) < count:
        length = round(SHORTEST * (LONGEST / SHORTEST) ** chance.random())
        expression = " ".join(draw_list(chance, length, DEEPEST))
        if expression not in seen:
            seen.add(expression)
            drawn.append(Pair(expression, str(value_of(expression))))
    return drawn


def draw_list(chance: random.Random, length: int, depth: int) -> list[str]:
    """The tokens of an expression of exactly this length, with at most `depth` lists in a line."""
    lists, digits = chance.choice(_shapes(length - 2, _capacity(depth - 1)))
    parts = [
        draw_list(chance, size, depth - 1)
        for size in _split(chance, length - 2 - digits, lists, _capacity(depth - 1))
    ]
    parts += [[chance.choice(DIGITS)] for _ in range(digits)]
    chance.shuffle(parts)
    return [chance.choice(NAMES), *(token for part in parts for token in part), "]"]


@cache
def _shapes(inner: int, capacity: int) -> list[tuple[int, int]]:
    """How many lists and digits can share so many tokens, no list having more than `capacity`."""
    return [
        (lists, count - lists)
        for count in range(2, ARGUMENTS + 1)
        for lists in range(count + 1)
        if SHORTEST * lists <= inner - (count - lists) <= capacity * lists
    ]


@cache
def _capacity(depth: int) -> int:
    """The most tokens of an expression of this depth, or more than are ever asked for."""
    if depth < 1:
        return 0
    return min(LONGEST, 2 + ARGUMENTS * max(1, _capacity(depth - 1)))


def _split(chance: random.Random, total: int, lists: int, capacity: int) -> list[int]:
    """Sizes of the lists that together have `total` tokens."""
    sizes: list[int] = []
    for left in range(lists - 1, -1, -1):
        low = max(SHORTEST, total - capacity * left)
        high = min(capacity, total - SHORTEST * left)
        sizes.append(chance.randint(low, high))
        total -= sizes[-1]
    return sizes


def write(corpus: Corpus, folder: Path) -> None:
    """Write two files for each part: .source and .target."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, pairs in (("train", corpus.train), ("valid", corpus.valid), ("test", corpus.test)):
        columns = {
            "source": [pair.source for pair in pairs],
            "target": [pair.target for pair in pairs],
        }
        for suffix, lines in columns.items():
            write_text(folder / f"{part}.{suffix}", "".join(line + "\n" for line in lines))
