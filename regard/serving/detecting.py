"""Which language a text is in: py3langid, narrowed to the languages that the server knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

MAX_CHARACTERS = 4096
"""Characters that are read; more do not change the answer."""

MOST = 3
FALLBACK = "en"


class Detected(NamedTuple):
    language: str
    confidence: float  # percent

    def as_json(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "language": self.language}


class Detector:
    """Ranks the languages of the server by character n-grams (Lui & Baldwin 2012)."""

    def __init__(self, codes: Sequence[str]) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._codes = list(dict.fromkeys(codes))
        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        known = set(self._identifier.labels)
        self._by_label = {
            label: code for code in reversed(self._codes) if (label := code.split("-")[0]) in known
        }
        if self._by_label:
            self._identifier.set_languages(list(self._by_label))

    def rank(self, text: str) -> list[Detected]:
        """The most probable languages, best first; without letters there is only a fallback."""
        read = text[:MAX_CHARACTERS]
        if not self._by_label or not any(letter.isalpha() for letter in read):
            return [Detected(FALLBACK, 0.0)]
        ranked = self._identifier.rank(read)[:MOST]
        return [Detected(self._by_label[each], round(100 * value, 1)) for each, value in ranked]

    def source(self, text: str, sources: Sequence[str]) -> tuple[str, Detected]:
        """The language to translate from, out of those that can be, and what was detected."""
        ranked = self.rank(text)
        usable = [each for each in ranked if each.language in sources]
        if usable:
            return usable[0].language, usable[0]
        return sources[0], ranked[0]
