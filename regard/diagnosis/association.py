"""How much the words of two lines belong together, learned from the corpus itself."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from regard.data.lexicon import cooccurrences, learn_links
from regard.data.ragged import Ragged

MAX_WORDS = 40
"""Words of a line that are looked at."""

VOCABULARY = 30_000
_TABLE = 2**21
_RARE = 2**20
_MAX_LEARNED = 3_000_000
_PRIOR = 2.0
_MOST = 6.0
_SAME = 5.0
"""For a rare word, such as a number or a name, that is on both sides."""

_FEWEST = 2
_CHUNK = 500
"""Pairs at a time, so that what is computed stays in the processor's cache."""

Indices = NDArray[np.int64]
Scores = NDArray[np.float64]


class Vocabulary:
    """Ids of the words of one side; words that are rare in the sample have a hash instead."""

    def __init__(self, counts: Counter[str]) -> None:
        frequent = [word for word, count in counts.most_common(VOCABULARY) if count > 1]
        self._ids = {word: number for number, word in enumerate(frequent)}

    def __len__(self) -> int:
        return len(self._ids)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The ids of the first words, each once."""
        known = self._ids
        return list(
            {
                known[word] if word in known else VOCABULARY + crc32(word.encode()) % _RARE
                for word in words
            }
        )


class Association:
    """For each target word, the most that one word of the source says for it: log p(t | s) / p(t)
    of IBM model 1, and the mean over the words of the line.

    Two halves of the pairs have a lexicon each, and a pair is judged by that of the other half: by
    its own, any two lines would belong together. The words of the source decide the half, so that
    pairs that repeat are in the same. The weights are in a table by the hash of both
    words, which is 2 x 8 MB whatever the corpus is.
    """

    def __init__(
        self, sources: Ragged, targets: Ragged, shift: int = 0, limit: int = sys.maxsize
    ) -> None:
        rows = _within(np.arange(len(sources)), shift, len(targets))[-limit:]
        halves = _halves(sources)
        self._tables = np.concatenate(
            [_table(sources, targets, rows[halves[rows] != half], shift) for half in (0, 1)]
        )

    def scores(self, sources: Ragged, targets: Ragged, rows: Indices, others: Indices) -> Scores:
        """Of source rows with target rows; nan where too few words are known."""
        chunks = [slice(start, start + _CHUNK) for start in range(0, len(rows), _CHUNK)]
        found = [self._scores(sources, targets, rows[each], others[each]) for each in chunks]
        return np.concatenate([np.zeros(0), *found])

    def _scores(self, sources: Ragged, targets: Ragged, rows: Indices, others: Indices) -> Scores:
        source, target, position = cooccurrences(sources.gather(rows), targets.gather(others))
        lengths = targets.lengths(others) * (sources.lengths(rows) > 0)
        line = np.repeat(np.arange(len(rows)), lengths)
        best = np.zeros(len(line))
        if len(position):
            parity = np.repeat(
                _halves(sources)[rows], sources.lengths(rows) * targets.lengths(others)
            )
            weights = self._tables[_key(source, target) + parity * _TABLE]
            rare = target >= VOCABULARY
            weights[rare] = np.where(source[rare] == target[rare], _SAME, 0)
            starts = np.flatnonzero(np.diff(position, prepend=-1))
            best = np.maximum.reduceat(weights, starts)
            judged = (target[starts] < VOCABULARY) | (best > 0)
        else:
            judged = np.zeros(0, bool)
        count = np.bincount(line[judged], minlength=len(rows))
        total = np.bincount(line[judged], best[judged], len(rows))
        return np.where(count < _FEWEST, np.nan, total / np.maximum(count, 1))


def ragged(lines: Sequence[list[int]]) -> Ragged:
    """The ids of lines, not more of each than are looked at."""
    return Ragged.of([line[:MAX_WORDS] for line in lines])


def _halves(sources: Ragged) -> Indices:
    """Of each line, 0 or 1."""
    sums = np.concatenate([[0], np.cumsum(sources.values)])
    return np.asarray(np.diff(sums[sources.offsets]) % 2)


def _within(rows: Indices, shift: int, size: int) -> Indices:
    return rows[(rows + shift >= 0) & (rows + shift < size)]


def _key(source: Indices, target: Indices) -> Indices:
    mixed = source * 0x9E3779B1 + target * 0x85EBCA77
    return np.asarray((mixed ^ (mixed >> 15)) & (_TABLE - 1))


def _table(sources: Ragged, targets: Ragged, rows: Indices, shift: int) -> NDArray[np.float32]:
    """The weights of the words that occur together in these pairs."""
    table = np.zeros(_TABLE, np.float32)
    cost = np.cumsum(sources.lengths(rows) * targets.lengths(rows + shift))
    rows = rows[: np.searchsorted(cost, _MAX_LEARNED)]
    if not len(rows) or not cost[-1]:
        return table
    given, made = _known(sources.gather(rows)), _known(targets.gather(rows + shift))
    if not len(given.values) or not len(made.values):
        return table
    links = learn_links(given, made, rounds=4)
    total = np.bincount(links.target, links.expected)
    share = (total / total.sum())[links.target]
    parents = np.bincount(links.source, links.expected)[links.source]
    smoothed = (links.expected + _PRIOR * share) / (parents + _PRIOR)
    weight = np.clip(np.log(smoothed / share), 0, _MOST)
    strong = weight > 0.3
    np.maximum.at(table, _key(links.source[strong], links.target[strong]), weight[strong])
    return table


def _known(lines: Ragged) -> Ragged:
    """Without the rare words."""
    kept = lines.values < VOCABULARY
    before = np.concatenate([[0], np.cumsum(kept)])
    return Ragged(lines.values[kept], before[lines.offsets])
