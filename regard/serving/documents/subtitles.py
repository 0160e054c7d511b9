"""Subtitles (SubRip): times and numbers stay, and each subtitle keeps its number of lines."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import srt

from regard.serving.documents.base import Document, unreadable
from regard.serving.documents.text import decoded
from regard.serving.fields import clean
from regard.serving.html import Item, read_html, write_html
from regard.serving.markup import Marked

_START = re.compile(r"\A(?:\{\\[^}]*\})*\s*(?:[-–—]\s*)?")
"""What stays before a text: where the subtitle is shown, and the dash of a speaker."""

_SPEAKER = re.compile(r"\n(?=\s*[-–—])")
_TAG = re.compile(r"<[^>]*>")


class _Turn(NamedTuple):
    """What one person says in a subtitle."""

    start: str
    items: list[Item]
    lines: int

    @staticmethod
    def read(text: str) -> _Turn:
        start = _START.match(text)[0]  # type: ignore[index]
        items = read_html(text[len(start) :].replace("\n", " "))
        return _Turn(start, items, text[len(start) :].count("\n") + 1)

    def write(self, texts: Iterator[Marked]) -> str:
        written = "".join(
            item if isinstance(item, str) else write_html(next(texts)) for item in self.items
        )
        return self.start + broken(html.unescape(written), self.lines)


class Subtitles(Document):
    """The lines of a subtitle are one text; those that begin with a dash are texts of their own.
    Sentences that continue in the next subtitle are divided there."""

    def __init__(self, data: bytes) -> None:
        self._mark, self._encoding, text = decoded(data)
        try:
            self._subtitles = list(srt.parse(clean(text).replace("\r\n", "\n")))
        except srt.SRTParseError:
            raise unreadable() from None
        self._ends_lines_with = "\r\n" if "\r\n" in text else "\n"
        self._turns = [
            [_Turn.read(turn) for turn in _SPEAKER.split(each.content)] for each in self._subtitles
        ]
        items = [item for turns in self._turns for turn in turns for item in turn.items]
        self.texts = [item for item in items if not isinstance(item, str)]

    def write(self, texts: Sequence[Marked]) -> bytes:
        rest = iter(texts)
        for subtitle, turns in zip(self._subtitles, self._turns, strict=True):
            subtitle.content = "\n".join([turn.write(rest) for turn in turns])
        text = srt.compose(self._subtitles, reindex=False)
        return self._mark + text.replace("\n", self._ends_lines_with).encode(self._encoding)


def broken(text: str, count: int) -> str:
    """A text on so many lines of similar length, as far as its spaces allow."""
    spaces, seen = _spaces(text)
    lines, start, before, first = list[str](), 0, 0.0, 0
    for left in range(count, 1, -1):
        if first == len(spaces):
            break
        wanted = before + (seen - before) / left
        best = bisect_left(spaces, (wanted,), first)
        if best == len(spaces) or (
            best > first and wanted - spaces[best - 1][0] <= spaces[best][0] - wanted
        ):
            best -= 1
        shown, index = spaces[best]
        lines.append(text[start:index])
        start, before, first = index + 1, shown + 1, best + 1
    return "\n".join([*lines, text[start:]])


def _spaces(text: str) -> tuple[list[tuple[float, int]], int]:
    """The spaces outside tags, each with how many characters are seen before it, and how many are
    seen in all."""
    found, seen, start = list[tuple[float, int]](), 0, 0
    for match in [*_TAG.finditer(text), None]:
        end = match.start() if match else len(text)
        inside = range(start, end)
        found += [(seen + index - start, index) for index in inside if text[index] == " "]
        seen += end - start
        start = match.end() if match else end
    return found, seen
