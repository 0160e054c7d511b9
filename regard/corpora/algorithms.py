"""The algorithmic tasks of the Neural Turing Machine (Graves et al. 2014, arXiv 1410.5401), with
symbols as words.

Training lines have lengths of a range, and there is one test set per length, most of them longer:
who has learned the algorithm is right there too. Each 8-bit vector of the paper is one of 256
symbols here, s0 to s255.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from regard.corpora.writing import write_files

SYMBOLS = tuple(f"s{number}" for number in range(256))
MAX_PAIRS = 2_000_000

Example = tuple[str, str]
"""A source and its target."""

Draw = Callable[[random.Random, int], tuple[list[str], list[str]]]
"""The words of a source of a given length and those of its target."""


def draw_copy(generator: random.Random, length: int) -> tuple[list[str], list[str]]:
    """`s7 s1 s7` is `s7 s1 s7`."""
    symbols = generator.choices(SYMBOLS, k=length)
    return symbols, symbols


MAX_REPEATS = 10


def draw_repeat_copy(generator: random.Random, length: int) -> tuple[list[str], list[str]]:
    """`s7 s1 x3` is `s7 s1 s7 s1 s7 s1`: the last word says how many times, 1 to 10."""
    symbols = generator.choices(SYMBOLS, k=length)
    repeats = generator.randint(1, MAX_REPEATS)
    return [*symbols, f"x{repeats}"], symbols * repeats


ITEM_SYMBOLS = 3


def draw_associative_recall(generator: random.Random, length: int) -> tuple[list[str], list[str]]:
    """`| s1 s2 s3 | s4 s5 s6 | s7 s8 s9 ? s4 s5 s6` is `s7 s8 s9`: which item followed that one?

    The length is the number of items, which all differ; the last item is never asked about.
    """
    items: list[list[str]] = []
    while len(items) < length:
        item = generator.choices(SYMBOLS, k=ITEM_SYMBOLS)
        if item not in items:
            items.append(item)
    asked = generator.randrange(length - 1)
    source = [word for item in items for word in ("|", *item)]
    return [*source, "?", *items[asked]], items[asked + 1]


PRIORITIES = tuple(f"p{number}" for number in range(100))


def draw_priority_sort(generator: random.Random, length: int) -> tuple[list[str], list[str]]:
    """`s7 p2 s1 p9 s5 p4` is `s1 s5 s7`: the symbols by priority, highest first; no two are the
    same."""
    symbols = generator.choices(SYMBOLS, k=length)
    priorities = generator.sample(range(len(PRIORITIES)), length)
    order = sorted(range(length), key=lambda index: -priorities[index])
    pairs = zip(symbols, priorities, strict=True)
    source = [word for symbol, number in pairs for word in (symbol, PRIORITIES[number])]
    return source, [symbols[index] for index in order]


@dataclass(frozen=True)
class Task:
    """How a pair is drawn, the shortest and longest length in training, and those of the tests."""

    draw: Draw
    shortest: int
    longest: int
    tests: tuple[int, ...]


TASKS: dict[str, Task] = {
    "copy": Task(draw_copy, 1, 20, (20, 40, 80, 120)),
    "repeat_copy": Task(draw_repeat_copy, 1, 10, (10, 20)),
    "associative_recall": Task(draw_associative_recall, 2, 6, (6, 10, 15)),
    "priority_sort": Task(draw_priority_sort, 1, 10, (10, 20, 40)),
}


def draw_length(generator: random.Random, shortest: int, longest: int) -> int:
    """A length between the two, log-uniformly: a batch of so many tokens has fewer long lines than
    short ones, so this makes a model meet batches of each length about equally often."""
    return min(longest, int(shortest * ((longest + 1) / shortest) ** generator.random()))


def generate(
    name: str, pairs: int, seed: int = 1, held_out: int = 500
) -> Mapping[str, list[Example]]:
    """The splits by name: train, valid, and one test set per length, such as test.40.

    There are so few of the shortest lines that training and validation share some.
    """
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    if pairs > MAX_PAIRS:
        raise ValueError(f"At most {MAX_PAIRS:,} pairs can be generated.")
    task = TASKS[name]

    def split(part: str, count: int, shortest: int, longest: int) -> list[Example]:
        generator = random.Random(f"{seed} {name} {part}")
        lengths = (draw_length(generator, shortest, longest) for _ in range(count))
        drawn = (task.draw(generator, length) for length in lengths)
        return [(" ".join(source), " ".join(target)) for source, target in drawn]

    trained = {
        part: split(part, count, task.shortest, task.longest)
        for part, count in (("train", pairs), ("valid", held_out))
    }
    tests = {
        f"test.{length}": split(f"test.{length}", held_out, length, length) for length in task.tests
    }
    return {**trained, **tests}


def write(corpus: Mapping[str, list[Example]], folder: Path) -> None:
    """Write two files per split: .source and .target."""
    sides = ("source", "target")
    files = {
        f"{split}.{sides[number]}": [example[number] for example in examples]
        for split, examples in corpus.items()
        for number in (0, 1)
    }
    write_files(folder, files)
