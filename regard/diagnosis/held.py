"""Validation or test pairs, which training pairs are compared with: what they share, and which of
their words training has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from regard.data.corpus import Pairs
from regard.data.damage import normalised, words_of
from regard.data.doctor import Examiner, Overlap
from regard.data.line import Pair
from regard.data.reread import Reread

MAX_WORDS = 1_000_000
"""Different words of a side whose coverage is counted; further ones are left out."""

_SHOWN = 10
_SIDES = ("source", "target")


@dataclass(frozen=True)
class Coverage:
    """Of the words of one side: how many of all and of the different ones training has, and the
    most frequent that it lacks."""

    words: int
    covered: int
    different: int
    different_covered: int
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.covered / max(1, self.words)


@dataclass(frozen=True)
class Comparison:
    """What training pairs have in common with the pairs of one part."""

    name: str
    pairs: int
    shared: int
    shared_sources: int
    coverage: dict[str, Coverage]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Held:
    """The pairs of one part, validation or test, which are read before those of training."""

    def __init__(self, name: str, pairs: Pairs) -> None:
        self.name = name
        copy = Reread(pairs)
        self._counts = (Counter[str](), Counter[str]())
        self.examiner = Examiner()
        for pair in copy.first():
            self.examiner.add(pair)
            for counts, text in zip(self._counts, pair.texts, strict=True):
                if len(counts) < MAX_WORDS:
                    counts.update(words_of(text))
        self._missing = tuple(set(counts) for counts in self._counts)
        self._copy = copy
        self._overlaps = (Overlap(copy, _both), Overlap(copy, _source))
        self.size = copy.report.kept

    def compare_exactly(self) -> None:
        """Pairs that differ in case, digits or punctuation are different ones."""
        self._overlaps = (Overlap(self._copy), Overlap(self._copy, _exact_source))

    def meets(self, pair: Pair) -> bool:
        """Whether a training pair is one of these: apart from case, digits and punctuation, unless
        they are compared exactly."""
        whole, source = self._overlaps
        source.meets(pair)
        return whole.meets(pair)

    def learn(self, words: Iterable[Sequence[str]], side: int) -> None:
        """Training has these words."""
        self._missing[side].difference_update(*words)

    def comparison(self, sides: Sequence[int]) -> Comparison:
        whole, source = self._overlaps
        coverage = {_SIDES[side]: self._coverage(side) for side in sides}
        return Comparison(self.name, self.size, whole.count, source.count, coverage)

    def _coverage(self, side: int) -> Coverage:
        counts, missing = self._counts[side], self._missing[side]
        total = counts.total()
        lacking = sum(counts[word] for word in missing)
        ranked = sorted(missing, key=lambda word: (-counts[word], word))[:_SHOWN]
        known = len(counts) - len(missing)
        return Coverage(total, total - lacking, len(counts), known, tuple(ranked))


def _both(pair: Pair) -> Hashable:
    return tuple(map(normalised, pair.texts))


def _exact_source(pair: Pair) -> Hashable:
    return pair.source.text


def _source(pair: Pair) -> Hashable:
    return normalised(pair.source.text)
