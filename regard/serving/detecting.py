"""Which language a text is in: py3langid, narrowed to the languages that the server knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from regard.data.detection import MAX_CHARACTERS, LanguageDetector

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
        by_label = {_label(code): code for code in reversed(dict.fromkeys(codes))}
        self._detector = LanguageDetector(list(by_label))
        self._by_label = {
            label: by_label[label] for label in by_label if label in self._detector.labels
        }

    def rank(self, text: str) -> list[Detected]:
        """The most probable languages, best first; without letters there is only a fallback."""
        if not self._by_label or not any(map(str.isalpha, text[:MAX_CHARACTERS])):
            return [Detected(FALLBACK, 0.0)]
        ranked = self._detector.rank(text)[:MOST]
        return [Detected(self._by_label[each], round(100 * value, 1)) for each, value in ranked]

    def source(self, text: str, sources: Sequence[str]) -> tuple[str, Detected]:
        """The language to translate from, out of those that can be, and what was detected. Scripts
        and regions of a language are not told apart: zh-Hans also stands for zh-Hant."""
        ranked, by_label = self.rank(text), dict[str, str]()
        for code in sources:
            by_label.setdefault(_label(code), code)
        for each in ranked:
            code = by_label.get(_label(each.language), "")
            if code:
                known = each.language if each.language in sources else code
                return known, each._replace(language=known)
        return sources[0], ranked[0]


def _label(code: str) -> str:
    """The code without script and region."""
    return code.split("-")[0]
