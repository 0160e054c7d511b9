"""Where one side of a corpus is ahead of the other, and where the sides are unrelated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.diagnosis.alignment import MAX_SHIFT, Alignment, Lines

UNRELATED = 2 * MAX_SHIFT + 1
"""The state of lines that belong to none of the targets around them; state s + MAX_SHIFT is that
of lines whose target is s lines further down."""

ALIGNED = MAX_SHIFT
SWITCH = -25.0
"""The log-probability of a change of state: about eight clear lines in a row are needed."""

_MOST = 4.0
"""Evidence of one line: a few lines that happen to fit their neighbours change nothing."""

_AROUND = 4
"""A damaged line is in a block if at least this many lines are damaged, itself included, among this
many on either side."""

_WINDOW = 32
_CONFIDENT = 0.5
"""A window of at least this share of the evidence that is usual is aligned, and not looked at
again."""

States = NDArray[np.int8]
Scores = NDArray[np.float64]


class Tracker:
    """Follows the shift through a file, block after block, by the Viterbi algorithm.

    Every line has evidence for each shift, and a change costs `SWITCH`. Blocks of lines that are
    known to be damaged by themselves have none, and are no stretch of unrelated lines either.
    """

    def __init__(self, alignment: Alignment) -> None:
        self._alignment = alignment
        self._scores = _start()

    def restart(self) -> None:
        """Another file begins."""
        self._scores = _start()

    def states(self, lines: Lines, begin: int, end: int, damaged: NDArray[np.bool_]) -> States:
        """Of the lines of a block; those before and after it give targets for shifts."""
        evidence = self._evidence(lines, begin, end)
        explained = damaged & _in_blocks(damaged)
        evidence[explained, :UNRELATED] = 0
        evidence[explained, UNRELATED] = -_MOST
        came_from = np.zeros(evidence.shape, np.int8)
        scores, stay = self._scores, np.arange(evidence.shape[1], dtype=np.int8)
        for index, values in enumerate(evidence):
            best = int(scores.argmax())
            switched = scores[best] + SWITCH
            came_from[index] = np.where(scores >= switched, stay, best)
            scores = np.maximum(scores, switched) + values
        self._scores = scores - scores.max()
        states = np.zeros(end - begin, np.int8)
        state = int(scores.argmax())
        for index in range(end - begin - 1, -1, -1):
            states[index] = state
            state = int(came_from[index, state])
        return states

    def _evidence(self, lines: Lines, begin: int, end: int) -> Scores:
        """(lines, states); windows that are clearly aligned have evidence for that alone."""
        rows = np.arange(begin, end)
        evidence = np.zeros((len(rows), UNRELATED + 1))
        evidence[:, :UNRELATED] = -1.0
        here = self._alignment.evidence(lines, rows, rows)
        evidence[:, ALIGNED] = here
        unclear = rows[_unclear(here, self._alignment.usual)]
        for shift in range(-MAX_SHIFT, MAX_SHIFT + 1):
            known = unclear[(unclear + shift >= 0) & (unclear + shift < len(lines))]
            if shift and len(known):
                found = self._alignment.evidence(lines, known, known + shift)
                evidence[known - begin, shift + MAX_SHIFT] = found
        return np.clip(evidence, -_MOST, _MOST)


def _start() -> Scores:
    scores = np.full(UNRELATED + 1, SWITCH / 2)
    scores[ALIGNED] = 0
    return scores


def _in_blocks(damaged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Lines around which several are damaged: a single one makes no stretch by itself."""
    around = np.ones(2 * _AROUND + 1)
    return np.asarray(np.convolve(damaged, around)[_AROUND:-_AROUND] >= _AROUND)


def _unclear(evidence: Scores, usual: float) -> NDArray[np.bool_]:
    """Lines of windows that may not be aligned, and of those beside them."""
    count = -(-len(evidence) // _WINDOW)
    window = np.arange(len(evidence)) // _WINDOW
    means = np.bincount(window, evidence) / np.bincount(window)
    poor = means < _CONFIDENT * usual
    around = poor.copy()
    around[1:] |= poor[:-1]
    around[: count - 1] |= poor[1:]
    return np.asarray(around[window])
