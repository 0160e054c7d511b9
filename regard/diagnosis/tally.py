"""What is counted while a corpus goes by: damage with examples, lengths, ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np

from regard.data.corpus import Entry, Portion
from regard.data.text import Bad, Content
from regard.diagnosis.blocks import Block
from regard.diagnosis.kinds import NAMES, has
from regard.diagnosis.report import Example, Side
from regard.diagnosis.rules import Looked, Rules

EXAMPLES = 8
"""Of each kind: the first ones."""

_SHOWN = 400
LENGTH_STEP = 5
_LENGTH_BINS = 41
RATIO_STEP = 0.1
_RATIO_BINS = 41


class Tally:
    """Sums over all blocks."""

    def __init__(self, portions: Sequence[Portion]) -> None:
        self._portions = portions
        self.pairs = 0
        self.damaged = 0
        self.damage = dict.fromkeys(NAMES, 0)
        self.examples: dict[str, list[Example]] = {name: [] for name in NAMES}
        self._characters, self._words, self._longest = [0, 0], [0, 0], [0, 0]
        self._lengths = [np.zeros(_LENGTH_BINS, np.int64) for _ in range(2)]
        self._ratios = np.zeros(_RATIO_BINS, np.int64)

    def add(self, block: Block, looked: Looked) -> None:
        marks = looked.marks
        self.pairs += len(block)
        self.damaged += int((marks > 0).sum())
        for name in NAMES:
            found = np.flatnonzero(has(marks, name))
            self.damage[name] += len(found)
            for index in found[: EXAMPLES - len(self.examples[name])]:
                self.examples[name].append(self._example(block.portion, block.entries[index]))
        for side in (0, 1):
            counts = np.fromiter(map(len, looked.words[side]), np.int64, len(block))
            characters = looked.lengths[side]
            self._characters[side] += int(characters.sum())
            self._words[side] += int(counts.sum())
            self._longest[side] = max(self._longest[side], int(characters.max(initial=0)))
            bins = np.minimum(counts[counts > 0] // LENGTH_STEP, _LENGTH_BINS - 1)
            self._lengths[side] += np.bincount(bins, minlength=_LENGTH_BINS)
        source, target = looked.lengths
        both = (source > 0) & (target > 0)
        ratios = np.minimum(target[both] / source[both] / RATIO_STEP, _RATIO_BINS - 1)
        self._ratios += np.bincount(ratios.astype(np.int64), minlength=_RATIO_BINS)

    def sides(self, rules: Optional[Rules]) -> tuple[Side, ...]:
        if rules is None:
            return ()
        return tuple(
            Side(
                ("source", "target")[side],
                self._language(rules, side),
                self._characters[side],
                self._words[side],
                self._longest[side],
                self._lengths[side].tolist(),
            )
            for side in rules.sides
        )

    @staticmethod
    def _language(rules: Rules, side: int) -> Optional[str]:
        found = [tongue.language for key, tongue in rules.tongues.items() if key[0] == side]
        return ", ".join(sorted({each for each in found if each})) or None

    @property
    def ratio(self) -> Optional[float]:
        """Characters of target per character of source."""
        source, target = self._characters
        return target / source if source and target else None

    @property
    def ratios(self) -> list[int]:
        return list(map(int, self._ratios))

    def _example(self, portion: int, entry: Entry) -> Example:
        side = 1 if isinstance(entry.record.target, Bad) else 0
        where = self._portions[portion].where(side, entry.record.line)
        return Example(where, _shown(entry.record.source), _shown(entry.record.target))


def _shown(text: Content) -> str:
    if isinstance(text, Bad):
        return f"({text.value})"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
