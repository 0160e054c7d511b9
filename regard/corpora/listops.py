"""ListOps (Nangia and Bowman 2018, arXiv 1804.06028): nested lists of digits to one digit.

`[MAX 2 9 [MIN 4 7 ] 0 ]` is 9. The answer depends on tokens that may be far apart, so the task
tests the long-range dependencies that a kind of attention can model.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from regard.corpora.writing import write_files

MAX_LENGTH = 200
MIN_LENGTH = 4
"""The shortest expression: an operator, two digits and the closing bracket."""

MAX_ARGUMENTS = 5
MAX_DEPTH = 10
MAX_PAIRS = 2_000_000


def median(values: list[int]) -> int:
    """The middle value, or the mean of the two middle ones, rounded down."""
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
class Expression:
    """An expression and the digit it evaluates to."""

    source: str
    target: str


@dataclass(frozen=True)
class ListOpsCorpus:
    """Three splits that have no expression in common."""

    train: list[Expression]
    valid: list[Expression]
    test: list[Expression]


def value_of(expression: str) -> int:
    """Evaluate an expression; raises ValueError if it is malformed."""
    open_lists: list[tuple[str, list[int]]] = []
    found: list[int] = []
    for token in expression.split():
        if found and not open_lists:
            raise ValueError(f"'{token}' follows the end of the expression.")
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
            raise ValueError(f"'{token}' is not valid at this point of the expression.")
    if open_lists or not found:
        raise ValueError("The expression is incomplete.")
    return found[0]


def generate(pairs: int, seed: int = 1, held_out: int = 1000) -> ListOpsCorpus:
    """Generate a corpus: `pairs` for training, and `held_out` each for validation and test.

    Test and validation are drawn first, so they do not change with the size of the training set.
    """
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    if pairs + 2 * held_out > MAX_PAIRS:
        raise ValueError(f"At most {MAX_PAIRS:,} pairs can be generated, all splits together.")
    seen: set[str] = set()
    test, valid, train = (
        draw(count, random.Random(f"{seed} listops {split}"), seen)
        for split, count in (("test", held_out), ("valid", held_out), ("train", pairs))
    )
    return ListOpsCorpus(train, valid, test)


def draw(count: int, generator: random.Random, seen: set[str]) -> list[Expression]:
    """Draw new expressions with log-uniform lengths, and add them to `seen`.

    A model learns the operators from short lists first. There are only hundreds of the shortest
    ones, so after a repeated expression another length is drawn.
    """
    drawn: list[Expression] = []
    while len(drawn) < count:
        length = round(MIN_LENGTH * (MAX_LENGTH / MIN_LENGTH) ** generator.random())
        expression = " ".join(draw_list(generator, length, MAX_DEPTH))
        if expression not in seen:
            seen.add(expression)
            drawn.append(Expression(expression, str(value_of(expression))))
    return drawn


def draw_list(generator: random.Random, length: int, depth: int) -> list[str]:
    """The tokens of an expression of exactly this length and at most this depth."""
    lists, digits = generator.choice(_shapes(length - 2, _capacity(depth - 1)))
    parts = [
        draw_list(generator, size, depth - 1)
        for size in _split(generator, length - 2 - digits, lists, _capacity(depth - 1))
    ]
    parts += [[generator.choice(DIGITS)] for _ in range(digits)]
    generator.shuffle(parts)
    return [generator.choice(NAMES), *(token for part in parts for token in part), "]"]


@cache
def _shapes(inner: int, capacity: int) -> list[tuple[int, int]]:
    """Possible numbers of (lists, digits) in `inner` tokens, at most `capacity` per list."""
    return [
        (lists, count - lists)
        for count in range(2, MAX_ARGUMENTS + 1)
        for lists in range(count + 1)
        if MIN_LENGTH * lists <= inner - (count - lists) <= capacity * lists
    ]


@cache
def _capacity(depth: int) -> int:
    """The longest expression of this depth, or MAX_LENGTH if that is less."""
    if depth < 1:
        return 0
    return min(MAX_LENGTH, 2 + MAX_ARGUMENTS * max(1, _capacity(depth - 1)))


def _split(generator: random.Random, total: int, lists: int, capacity: int) -> list[int]:
    """Random lengths of the lists, which add up to `total` tokens."""
    sizes: list[int] = []
    for left in range(lists - 1, -1, -1):
        low = max(MIN_LENGTH, total - capacity * left)
        high = min(capacity, total - MIN_LENGTH * left)
        sizes.append(generator.randint(low, high))
        total -= sizes[-1]
    return sizes


def write(corpus: ListOpsCorpus, folder: Path) -> None:
    """Write two files per split: .source and .target."""
    splits = {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}
    files: dict[str, list[str]] = {}
    for split, expressions in splits.items():
        files[f"{split}.source"] = [expression.source for expression in expressions]
        files[f"{split}.target"] = [expression.target for expression in expressions]
    write_files(folder, files)
