"""The scripts that letters belong to, by their code points."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

_RANGES = {
    "Latin": "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff\u2c60-\u2c7f"
    "\ua720-\ua7ff\uab30-\uab64\uff21-\uff3a\uff41-\uff5a",
    "Greek": "\u0370-\u03e1\u03f0-\u03ff\u1f00-\u1fff",
    "Cyrillic": "\u0400-\u052f\u1c80-\u1c88\u2de0-\u2dff\ua640-\ua69f",
    "Armenian": "\u0531-\u0556\u0561-\u0587",
    "Hebrew": "\u05d0-\u05ea\u05f0-\u05f2",
    "Arabic": "\u0620-\u064a\u0671-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdfb\ufe70-\ufefc",
    "Devanagari": "\u0904-\u0963\u0971-\u097f",
    "Bengali": "\u0985-\u09e3",
    "Gurmukhi": "\u0a05-\u0a74",
    "Gujarati": "\u0a85-\u0ae3",
    "Oriya": "\u0b05-\u0b63",
    "Tamil": "\u0b83-\u0bd7",
    "Telugu": "\u0c05-\u0c63",
    "Kannada": "\u0c85-\u0ce3",
    "Malayalam": "\u0d05-\u0d63",
    "Sinhala": "\u0d85-\u0ddf",
    "Thai": "\u0e01-\u0e4e",
    "Lao": "\u0e81-\u0edf",
    "Tibetan": "\u0f40-\u0fbc",
    "Burmese": "\u1000-\u109f",
    "Georgian": "\u10a0-\u10ff\u1c90-\u1cbf\u2d00-\u2d2d",
    "Ethiopic": "\u1200-\u139f",
    "Khmer": "\u1780-\u17d3",
    "Hangul": "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3",
    "Kana": "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "Han": "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
}
_LETTERS = {name: re.compile(f"[{ranges}]") for name, ranges in _RANGES.items()}
_DENSE = re.compile(f"[{''.join(_RANGES[name] for name in ('Hangul', 'Kana', 'Han'))}]")
_OTHER = re.compile(f"[{''.join(ranges for name, ranges in _RANGES.items() if name != 'Latin')}]")


def scripts_of(texts: Iterable[str]) -> Counter[str]:
    """How many letters the texts have of each script."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts["Latin"] += len(_LETTERS["Latin"].findall(text))
        if not text.isascii() and _OTHER.search(text):
            for name, pattern in _LETTERS.items():
                if name != "Latin" and (found := len(pattern.findall(text))):
                    counts[name] += found
    return +counts


def letters_of(text: str) -> int:
    """How many letters a text has: one that stands for a syllable or a word counts as three."""
    letters = sum(map(str.isalpha, text))
    return letters if text.isascii() else letters + 2 * len(_DENSE.findall(text))


class Foreign:
    """Letters of other scripts than those expected."""

    def __init__(self, expected: Collection[str]) -> None:
        others = "".join(ranges for name, ranges in _RANGES.items() if name not in expected)
        usual = "".join(ranges for name, ranges in _RANGES.items() if name in expected)
        self._others = re.compile(f"[{others}]") if others else None
        self._usual = re.compile(f"[{usual}]") if usual else None
        self._latin = "Latin" in expected

    def prevails_in(self, text: str, fewest: int) -> bool:
        """Whether at least so many letters, and most of them, are of other scripts."""
        if (self._latin and text.isascii()) or self._others is None or self._usual is None:
            return False
        found = len(self._others.findall(text))
        return found >= fewest and found > len(self._usual.findall(text))
