"""A look at the pairs before training: warns of what is suspicious, refuses swapped files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from regard.data.damage import EXTREME_RATIO, LIKELY_TASK, is_extreme, is_garbled, words_of
from regard.data.line import Pair
from regard.errors import UsageError
from regard.metrics.table import Writes

_SAMPLE = 20_000
_WORDS = 2_000
_REMEMBERED = 1_000_000
_REPEATED = 0.1
_EXTREME_SHARE = 0.05
_GARBLED = 0.01
_FEWEST_KNOWN = 10
_MARGIN = 1.0


@dataclass(frozen=True)
class Profile:
    """The most frequent words of each side with their counts: enough to tell the sides apart."""

    source: Mapping[str, int]
    target: Mapping[str, int]

    def to_json(self) -> dict[str, dict[str, int]]:
        return {"source": dict(self.source), "target": dict(self.target)}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Profile:
        try:
            return Profile(
                *(
                    {str(w): int(n) for w, n in record[side].items()}
                    for side in ("source", "target")
                )
            )
        except (LookupError, TypeError, ValueError, AttributeError):
            raise UsageError("The stored profile of the training data is damaged.") from None

    def looks_swapped(self, source: Mapping[str, int], target: Mapping[str, int]) -> bool:
        """Whether these words of two sides are swapped in comparison with this profile.

        Each side's words vote by log p(word | training target) - log p(word | training source), and
        both sides must be on the wrong one by a clear margin: where the sides share their words, as
        in copying, the votes are near 0; words not seen in training do not vote.
        """
        of_source, known_source = _leaning(self, source)
        of_target, known_target = _leaning(self, target)
        known = min(known_source, known_target) >= _FEWEST_KNOWN
        return known and of_source > _MARGIN and of_target < -_MARGIN


@dataclass(frozen=True)
class Examination:
    """The doctor's result: a profile to compare later files with, and warnings to print."""

    profile: Profile
    warnings: tuple[str, ...]


def examine(pairs: Iterable[Pair], writes: Writes = "text") -> Examination:
    """Look at the first 20,000 pairs."""
    return examined(pairs, writes).examination()


def examined(pairs: Iterable[Pair], writes: Writes = "text") -> Examiner:
    """An examiner that has seen the first 20,000 pairs."""
    examiner = Examiner(writes)
    for pair in islice(pairs, _SAMPLE):
        examiner.add(pair)
    return examiner


def refuse_swapped(
    profile: Profile, pairs: Iterable[Pair], name: str, writes: Writes = "text"
) -> None:
    """Refuse files whose source looks like the training target and whose target like its source."""
    if look_swapped(profile, pairs, writes):
        _refuse_swapped(name)


def look_swapped(profile: Profile, pairs: Iterable[Pair], writes: Writes = "text") -> bool:
    """Whether the first 20,000 pairs are swapped in comparison with the profile."""
    return examined(pairs, writes).looks_swapped(profile)


def swapped_among(examiners: Sequence[Examiner], sizes: Sequence[int]) -> list[int]:
    """Which of several parts of a corpus are swapped in comparison with all others.

    A part with most of the pairs decides what is right; of two equal ones, the first does.
    """
    found = []
    for index, examiner in enumerate(examiners):
        decides = 2 * sizes[index] > sum(sizes) - (index == 0)
        others = (each for each in examiners if each is not examiner)
        if not decides and examiner.looks_swapped(profile_of_all(others)):
            found.append(index)
    return found


def profile_of_all(examiners: Iterable[Examiner]) -> Profile:
    """The profile of what several examiners have seen."""
    total = _Counts()
    for each in examiners:
        total.source += each.counts.source
        total.target += each.counts.target
    return total.profile()


class Examiner:
    """Looks at the first 20,000 pairs that it is given.

    What two texts have in common is compared only where the target is text.
    """

    def __init__(self, writes: Writes = "text") -> None:
        self.counts = _Counts()
        self._text = writes == "text"

    def add(self, pair: Pair) -> None:
        if self.counts.pairs < _SAMPLE:
            self.counts.add(pair)

    def repetitions(self) -> list[str]:
        """Warnings of a line that is in many pairs."""
        return self.counts.repetitions(self._text)

    def examination(self) -> Examination:
        return Examination(self.counts.profile(), tuple(self.counts.warnings(self._text)))

    def refuse_swapped(self, profile: Profile, name: str) -> None:
        if self.looks_swapped(profile):
            _refuse_swapped(name)

    def looks_swapped(self, profile: Profile) -> bool:
        """Whether the sides are swapped in comparison with the profile."""
        return self._text and profile.looks_swapped(self.counts.source, self.counts.target)


def texts_of(pair: Pair) -> Hashable:
    return pair.texts


class Overlap:
    """The share of validation pairs that are among the training pairs as well.

    Only hashes of validation pairs are held, at most a million of them. Pairs with the same `key`
    count as the same.
    """

    def __init__(
        self, validation: Iterable[Pair], key: Callable[[Pair], Hashable] = texts_of
    ) -> None:
        self._key = key
        self._hashes = [hash(key(pair)) for pair in islice(validation, _REMEMBERED)]
        self._wanted = set(self._hashes)
        self._found = set[int]()

    def meets(self, pair: Pair) -> bool:
        """Whether a training pair is a validation pair; it is counted."""
        value = hash(self._key(pair))
        met = value in self._wanted
        if met:
            self._found.add(value)
        return met

    def watch(self, training: Iterable[Pair]) -> Iterator[Pair]:
        """The training pairs, which are compared in passing."""
        for pair in training:
            self.meets(pair)
            yield pair

    @property
    def share(self) -> float:
        return self.count / max(len(self._hashes), 1)

    @property
    def count(self) -> int:
        """How many validation pairs were met."""
        return sum(value in self._found for value in self._hashes)


def _refuse_swapped(name: str) -> None:
    raise UsageError(
        f"The source and target of {name} are swapped: their words are those of the other side of "
        "the training data; give the files the other way round."
    )


def _leaning(profile: Profile, words: Mapping[str, int]) -> tuple[float, int]:
    """The mean vote of the words for the target side, and how many voted."""
    kinds = len(profile.source.keys() | profile.target.keys())
    source_total = sum(profile.source.values()) + kinds / 2
    target_total = sum(profile.target.values()) + kinds / 2
    votes, voters = 0.0, 0
    for word, count in words.items():
        in_source, in_target = profile.source.get(word, 0), profile.target.get(word, 0)
        if in_source or in_target:
            ratio = (in_target + 0.5) / target_total * source_total / (in_source + 0.5)
            votes += count * math.log(ratio)
            voters += count
    return votes / max(voters, 1), voters


@dataclass
class _Counts:
    """Everything that is counted in one look at the pairs."""

    pairs: int = 0
    identical: int = 0
    extreme: int = 0
    garbled: int = 0
    source: Counter[str] = field(default_factory=Counter)
    target: Counter[str] = field(default_factory=Counter)
    source_lines: Counter[int] = field(default_factory=Counter)
    target_lines: Counter[int] = field(default_factory=Counter)

    def add(self, pair: Pair) -> None:
        source, target = pair.texts
        self.pairs += 1
        self.identical += source == target
        self.extreme += is_extreme(source, target)
        self.garbled += is_garbled(source) or is_garbled(target)
        self.source.update(words_of(source))
        self.target.update(words_of(target))
        self.source_lines[hash(source)] += 1
        self.target_lines[hash(target)] += 1

    def profile(self) -> Profile:
        return Profile(_frequent(self.source), _frequent(self.target))

    def warnings(self, is_text: bool) -> list[str]:
        if not self.pairs:
            return []
        found = self._comparisons() if is_text else []
        if self.garbled > _GARBLED * self.pairs:
            found.append(
                f"{self.garbled / self.pairs:.0%} of the pairs have characters that a wrong "
                "conversion to UTF-8 leaves behind, such as 'Ã¤'."
            )
        return found + self.repetitions(is_text)

    def repetitions(self, is_text: bool) -> list[str]:
        if not self.pairs:
            return []
        found = self._repetition("source", self.source_lines)
        return found + (self._repetition("target", self.target_lines) if is_text else [])

    def _comparisons(self) -> list[str]:
        """Whatever is suspicious, if both sides are text."""
        found = []
        if self.identical > LIKELY_TASK * self.pairs:
            found.append(
                f"Source and target are identical in {self.identical / self.pairs:.0%} of the "
                "pairs: unless the task is copying, one file was given twice."
            )
        # Where most pairs are like that, as with a document and its class, it is the task.
        if _EXTREME_SHARE < self.extreme / self.pairs < LIKELY_TASK:
            found.append(
                f"In {self.extreme / self.pairs:.0%} of the pairs one side is more than "
                f"{EXTREME_RATIO} times as long as the other: the files may not be aligned."
            )
        return found

    def _repetition(self, side: str, lines: Counter[int]) -> list[str]:
        most = max(lines.values())
        labels = len(lines) < _REPEATED * self.pairs  # few different lines: classes, not sentences
        empty = self.pairs == lines[hash("")]
        if most <= _REPEATED * self.pairs or labels or empty or self.pairs < 20:
            return []
        return [f"The same {side} line is in {most / self.pairs:.0%} of the pairs."]


def _frequent(counts: Counter[str]) -> dict[str, int]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:_WORDS])
