"""Whether source and target of a pair belong together, by evidence calibrated on the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from regard.data.ragged import Ragged
from regard.diagnosis.association import Association
from regard.diagnosis.lengths import Lengths

Indices = NDArray[np.int64]
Scores = NDArray[np.float64]

MAX_SHIFT = 5
"""Lines by which one side may be ahead of the other and still be recognised."""

FEWEST_PAIRS = 200
"""With fewer pairs, nothing can be learned about which words go together."""

_APART = 997
"""Lines between a source and the target of another line that it is compared with."""

_TRIED = 4_000
_CLEAR = 0.75
_ENOUGH = 0.65
_LOW = 0.5
"""Of the values of other lines, the lowest share, where translations are rarest."""

_LIKELY = 0.6
_FREE = 0.01
"""Translations so free that they look like unrelated lines; this share is never reported."""


@dataclass(frozen=True)
class Lines:
    """What is known of the lines of a block: word ids of both sides, and characters."""

    sources: Ragged
    targets: Ragged
    source_lengths: NDArray[np.int64]
    target_lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sources)


class Histogram:
    """log p(value | translation) - log p(value | other line), from values of both kinds.

    The pairs of a corpus are not all translations: their density is a mixture with that of other
    lines, whose share is estimated in the lower half of the other lines, where translations
    are rare.
    """

    def __init__(self, pairs: Scores, others: Scores, bins: int = 16) -> None:
        pairs, others = pairs[~np.isnan(pairs)], others[~np.isnan(others)]
        inner = np.quantile(np.concatenate([pairs, others]), np.linspace(0, 1, bins + 1)[1:-1])
        self._edges = np.unique(inner)
        of_pairs, of_others = self._density(pairs), self._density(others)
        low = np.cumsum(of_others) <= _LOW
        low[0] = True
        self.unrelated = min(1.0, float(of_pairs[low].sum() / of_others[low].sum()))
        translations = np.maximum(of_pairs - self.unrelated * of_others, 0.02 * of_pairs)
        translations /= translations.sum()
        self._ratios = np.clip(np.log(translations / of_others), -6, 6)
        share = max(0.0, self.unrelated - _FREE)
        self._posterior = np.minimum(1, share * of_others / of_pairs)

    def _density(self, values: Scores) -> Scores:
        counts = np.bincount(self._bins(values), minlength=len(self._edges) + 1) + 0.5
        return np.asarray(counts / counts.sum())

    def _bins(self, values: Scores) -> Indices:
        return np.searchsorted(self._edges, values)

    def evidence(self, values: Scores) -> Scores:
        """0 where the value is not known."""
        return np.where(np.isnan(values), 0, self._ratios[self._bins(values)])

    def probably_unrelated(self, values: Scores) -> NDArray[np.bool_]:
        """Where another line is clearly more likely than a translation."""
        return ~np.isnan(values) & (self._posterior[self._bins(values)] > _LIKELY)


class Alignment:
    """Evidence that a source and a target are translations, in nats.

    It adds what the words say (`Association`) and what the lengths say (Gale & Church 1993), each
    by a histogram of the sample's pairs and of lines that do not belong together.
    """

    def __init__(
        self, lines: Lines, lengths: Lengths, association: Association, shift: int = 0
    ) -> None:
        self._lengths = lengths
        self._association = association
        size = len(lines)
        rows = np.arange(max(0, -shift), size - max(0, shift))
        beside, apart = rows + shift, (rows + min(_APART, size // 2)) % size
        self._words = Histogram(
            association.scores(*_sides(lines), rows, beside),
            association.scores(*_sides(lines), rows, apart),
        )
        self._ratio = Histogram(
            self._deviations(lines, rows, beside), self._deviations(lines, rows, apart)
        )
        self._both = Histogram(self._sum(lines, rows, beside), self._sum(lines, rows, apart))
        self.usual = float(np.quantile(self.evidence(lines, rows, beside), 0.75))

    def evidence(self, lines: Lines, rows: Indices, others: Indices) -> Scores:
        return self._both.evidence(self._sum(lines, rows, others))

    def unrelated(self, lines: Lines) -> NDArray[np.bool_]:
        """Pairs whose sides probably have nothing to do with each other."""
        rows = np.arange(len(lines))
        return self._both.probably_unrelated(self._sum(lines, rows, rows))

    def _sum(self, lines: Lines, rows: Indices, others: Indices) -> Scores:
        words = self._association.scores(*_sides(lines), rows, others)
        known = self._words.evidence(words) + self._ratio.evidence(
            self._deviations(lines, rows, others)
        )
        # the words decide among values that are the same otherwise
        return np.where(np.isnan(words), np.nan, known + 1e-3 * np.nan_to_num(words))

    def _deviations(self, lines: Lines, rows: Indices, others: Indices) -> Scores:
        return np.abs(
            self._lengths.deviation(lines.source_lengths[rows], lines.target_lengths[others])
        )


def learn_alignment(lines: Lines, lengths: Lengths) -> Optional[Alignment]:
    """From a sample of the corpus; nothing if its sides have nothing in common at any shift."""
    if len(lines) < FEWEST_PAIRS:
        return None
    association = Association(*_sides(lines))
    clarity, best = _clarity(association, lines, 0), 0
    if clarity < _CLEAR:
        tried = {
            shift: Association(*_sides(lines), shift, limit=_TRIED)
            for shift in range(-MAX_SHIFT, MAX_SHIFT + 1)
        }
        clearest = {shift: _clarity(each, lines, shift) for shift, each in tried.items()}
        best = max(clearest, key=lambda shift: (clearest[shift], -abs(shift)))
        if best:
            association = Association(*_sides(lines), best)
            clarity = _clarity(association, lines, best)
    return Alignment(lines, lengths, association, best) if clarity > _ENOUGH else None


def _clarity(association: Association, lines: Lines, shift: int) -> float:
    """The probability that a pair at this shift has a higher score than two other lines."""
    size = len(lines)
    rows = np.arange(max(0, -shift), size - max(0, shift))
    rows = rows[:: -(-len(rows) // _TRIED)]
    others = (rows + min(_APART, size // 2)) % size
    pairs = association.scores(*_sides(lines), rows, rows + shift)
    apart = np.sort(association.scores(*_sides(lines), rows, others))
    apart, pairs = apart[~np.isnan(apart)], pairs[~np.isnan(pairs)]
    if not len(apart) or not len(pairs):
        return 0.5
    below = np.searchsorted(apart, pairs) + np.searchsorted(apart, pairs, side="right")
    return float(below.mean() / 2 / len(apart))


def _sides(lines: Lines) -> tuple[Ragged, Ragged]:
    return lines.sources, lines.targets
