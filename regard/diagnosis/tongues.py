"""Lines in another language or script than the rest of their side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Optional

from regard.data.damage import words_of
from regard.data.detection import detector_of_all
from regard.data.scripts import Foreign, letters_of, scripts_of

_USUAL_SCRIPT = 0.02
_FEWEST_FOREIGN_LETTERS = 6

_ASKED = 2_000
_FEWEST_LETTERS = 20
"""In shorter lines the detector guesses."""

_FAMILIAR = 0.5
_SURE = 0.35
_UNLIKELY = 0.1
_MARGIN = 0.3


class Tongue:
    """The language of one side: its usual scripts and words, from a sample.

    The detector takes a tenth of a millisecond and errs with short lines: it is asked about some
    lines of the sample, and later only about lines of which more than half of the words are in
    none of those that were found to be in the language.
    """

    def __init__(self, lines: Sequence[str], given: Optional[str]) -> None:
        scripts = scripts_of(lines)
        total = sum(scripts.values())
        usual = [name for name, count in scripts.items() if count > _USUAL_SCRIPT * total]
        self._foreign = Foreign(usual or ["Latin"])
        self._detector = detector_of_all()
        asked = [line for line in lines if letters_of(line) >= _FEWEST_LETTERS]
        asked = asked[:: -(-len(asked) // _ASKED) or 1]
        labels = [self._detector.rank(line)[0][0] for line in asked]
        self.found = _majority(labels)
        self.given = given
        self.language = self.found
        own = [line for line, label in zip(asked, labels, strict=True) if label == self.language]
        self._words = frozenset(word for line in own for word in words_of(line))

    @property
    def is_unexpected(self) -> bool:
        """Whether most lines seem to be in another language than the one given."""
        if self.given is None or self.found is None:
            return False
        expected = self.given.split("-")[0]
        return expected != self.found and expected in self._detector.labels

    def is_in_another_script(self, text: str) -> bool:
        return self._foreign.prevails_in(text, _FEWEST_FOREIGN_LETTERS)

    def familiarity(self, words: Sequence[str]) -> float:
        """The share of the words that are usual in this side."""
        return sum(word in self._words for word in words) / len(words) if words else 1.0

    def another_language(self, text: str, words: Sequence[str], other: Tongue) -> Optional[str]:
        """Which one the line is in, if it is in another; `other` is the other side's."""
        familiar = self.familiarity(words)
        if familiar >= _FAMILIAR or letters_of(text) < _FEWEST_LETTERS or self.language is None:
            return None
        if other is not self and len(words) > 3 and other.familiarity(words) > familiar + _MARGIN:
            return other.language
        ranked = self._detector.rank(text)
        best, probability = ranked[0]
        own = next((value for label, value in ranked if label == self.language), None)
        if own is None or best == self.language or probability < _SURE or own > _UNLIKELY:
            return None
        return best


def _majority(labels: Sequence[str]) -> Optional[str]:
    """What most lines seem to be in."""
    label, most = max(Counter(labels).items(), key=lambda each: each[1], default=("", 0))
    return label if most > len(labels) / 2 else None


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))
