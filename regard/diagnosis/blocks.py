"""A corpus in blocks of pairs, so that only some of it is held at any time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from regard.data.corpus import Entry, Pairs
from regard.errors import UsageError

PAIRS = 5_000
CHARACTERS = 4_000_000
"""A block has no more than this many pairs, and ends with the pair that exceeds the other."""

SAMPLE_PAIRS = 50_000
SAMPLE_CHARACTERS = 32_000_000
"""What is usual in a corpus is learned from its first blocks, up to this size."""


@dataclass(frozen=True)
class Block:
    """Neighbouring records of one portion; the first is the n-th of it, counted from 1."""

    portion: int
    number: int
    entries: Sequence[Entry]

    def __len__(self) -> int:
        return len(self.entries)

    def texts(self, side: int) -> list[str]:
        """Of the source (0) or the target (1); nothing where a pair cannot be used."""
        return ["" if each.pair is None else each.pair.texts[side] for each in self.entries]

    @property
    def characters(self) -> int:
        return sum(len(text) for side in (0, 1) for text in self.texts(side))


class Blocks:
    """The blocks of a corpus; `problem` is what training would refuse it for, once it was met."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self.problem: Optional[UsageError] = None

    def __iter__(self) -> Iterator[Block]:
        held: list[Entry] = []
        portion, number, characters = 0, 1, 0
        for entry in self._entries():
            full = len(held) >= PAIRS or characters >= CHARACTERS
            if held and (full or entry.portion != portion):
                yield Block(portion, number, held)
                number = 1 if entry.portion != portion else number + len(held)
                held, characters = [], 0
            portion = entry.portion
            held.append(entry)
            characters += 0 if entry.pair is None else sum(map(len, entry.pair.texts))
        if held:
            yield Block(portion, number, held)

    def _entries(self) -> Iterator[Entry]:
        """Until the end, or until what cannot be read."""
        try:
            yield from self._pairs.entries()
        except UsageError as problem:
            self.problem = problem


def take_sample(blocks: Iterator[Block]) -> list[Block]:
    """The first blocks."""
    taken: list[Block] = []
    pairs = characters = 0
    for block in blocks:
        taken.append(block)
        pairs, characters = pairs + len(block), characters + block.characters
        if pairs >= SAMPLE_PAIRS or characters >= SAMPLE_CHARACTERS:
            break
    return taken
