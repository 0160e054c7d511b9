"""A text as sentences and what is between them, so that it can be put back exactly."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_LINE = re.compile(r"(?<!\s)\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
"""Tried once per run of white space, however long: not at each of its characters."""

_BREAKS = (
    re.compile(r"(?<=[;:!?。！？；])\s*"),
    re.compile(r"(?<=[,，、–—])\s*"),
    re.compile(r"\s+"),
)
"""Where a sentence that is too long may be divided, best first."""

Fits = Callable[[str], bool]


@dataclass(frozen=True)
class Sentences:
    """gaps[0] + texts[0] + gaps[1] + texts[1] + ... + gaps[-1] is the text. A sentence begins and
    ends with a visible character; what has neither a letter nor a digit belongs to a gap."""

    texts: tuple[str, ...]
    gaps: tuple[str, ...]

    def join(self, translations: Sequence[str]) -> str:
        """The text with other sentences in the same gaps."""
        first, *others = self.gaps
        return first + "".join(map("".join, zip(translations, others, strict=True)))


def split(text: str, language: str, fits: Fits) -> Sentences:
    """Divide a text into sentences by the rules of its language (sentencex). A line break ends a
    sentence too. A sentence that does not fit is divided further."""
    texts, gaps, gap = list[str](), list[str](), ""
    for part in _parts(text, language):
        for piece in _fitting(part, fits):
            core = piece.strip()
            if not any(letter.isalnum() for letter in core):
                gap += piece
                continue
            before, after = piece.split(core, 1)
            gaps.append(gap + before)
            texts.append(core)
            gap = after
    return Sentences(tuple(texts), (*gaps, gap))


def _parts(text: str, language: str) -> list[str]:
    from sentencex import segment

    found, start = list[str](), 0
    for match in [*_LINE.finditer(text), None]:
        line = text[start : match.start() if match else len(text)]
        found += segment(language, line) if line else []
        if match:
            found.append(match[0])
            start = match.end()
    return found


def _fitting(part: str, fits: Fits) -> list[str]:
    """The part in as many pieces as it needs; together they are the part."""
    waiting, found = [part], list[str]()
    while waiting:
        piece = waiting.pop()
        if len(piece) < 2 or fits(piece.strip()):
            found.append(piece)
            continue
        middle = _break_near_middle(piece)
        waiting += [piece[middle:], piece[:middle]]
    return found


def _break_near_middle(piece: str) -> int:
    """Where to divide: at the best mark in the middle half, or else in the middle."""
    low, high, middle = len(piece) // 4, len(piece) - len(piece) // 4, len(piece) // 2
    for pattern in _BREAKS:
        places = [m.end() for m in pattern.finditer(piece, low, high) if low < m.end() < high]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    return max(1, middle)
