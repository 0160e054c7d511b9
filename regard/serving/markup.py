"""Marks around words, carried from a text to its translation by word alignment.

Each target word gets the marks of the source word it is aligned with, so that a mark may be divided
or move, and is never lost. This serves HTML as well as the formatting of documents.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Optional, Union

from regard.serving.directions import Direction
from regard.serving.translating import Translation, Wanted, translate, words

_UNIT = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")

THREAD_MIN_PARTS = 500
"""Spans and points that are placed in another thread, so that other requests do not wait."""

Stack = tuple[Hashable, ...]
"""The marks around a piece of text, outermost first."""


class Span(NamedTuple):
    """Some text inside the same marks."""

    text: str
    stack: Stack = ()


class Point(NamedTuple):
    """Something between two characters, such as an image or a comment."""

    content: Any
    stack: Stack = ()


Marked = Sequence[Union[Span, Point]]


class _Unit(NamedTuple):
    """A word or a punctuation mark, and where it is."""

    start: int
    end: int
    text: str

    @property
    def is_word(self) -> bool:
        return self.text[0].isalnum() or self.text[0] == "_"


def plain(marked: Marked) -> str:
    return "".join(each.text for each in marked if isinstance(each, Span))


async def translate_marked(
    direction: Direction, texts: Sequence[Marked], deadline: float
) -> list[list[Union[Span, Point]]]:
    """Translations of marked texts, all in one go; words are aligned where there are marks."""
    aligned = any(not _is_uniform(text) for text in texts)
    found = await translate(direction, list(map(plain, texts)), Wanted(aligned=aligned), deadline)

    def work() -> list[list[Union[Span, Point]]]:
        return [transfer(*both) for both in zip(texts, found, strict=True)]

    if sum(map(len, texts)) < THREAD_MIN_PARTS:
        return work()
    return await asyncio.to_thread(work)


def _is_uniform(marked: Marked) -> bool:
    """Whether the same marks are around all of a text, so that no words need to be aligned."""
    return not any(isinstance(each, Point) or each.stack != marked[0].stack for each in marked)


def transfer(marked: Marked, translation: Translation) -> list[Union[Span, Point]]:
    """The translation with the marks and points of its source."""
    target = translation.text
    if marked and _is_uniform(marked):
        return [Span(target, marked[0].stack)]
    source = _Source.of(marked)
    units = _units(target)
    if not units or not source.units:
        spans = [Span(target, source.stacks[0] if source.stacks else ())]
        return [*spans, *(point for _, point in source.points)]
    links = _links(translation, source.units, units)
    stacks = _resolve([_stack(unit, links[k], source) for k, unit in enumerate(units)])
    _keep_all(stacks, units, source)
    return list(_emit(target, units, stacks, _placed(source, units, links)))


@dataclass(frozen=True)
class _Source:
    """What is read off a marked text: its units with their stacks, and its points by the number of
    units before them."""

    units: list[_Unit]
    stacks: list[Stack]
    points: list[tuple[int, Point]]

    @staticmethod
    def of(marked: Marked) -> _Source:
        offset, bounds, spans, points = 0, list[int](), list[Span](), list[tuple[int, Point]]()
        for each in marked:
            if isinstance(each, Point):
                points.append((offset, each))
                continue
            bounds.append(offset)
            spans.append(each)
            offset += len(each.text)
        units = _units(plain(marked))
        stacks = [spans[bisect_right(bounds, (u.start + u.end - 1) // 2) - 1].stack for u in units]
        starts = [unit.start for unit in units]
        placed = [(bisect_left(starts, at), point) for at, point in points]
        return _Source(units, stacks, placed)


def _units(text: str) -> list[_Unit]:
    return [_Unit(found.start(), found.end(), found[0]) for found in _UNIT.finditer(text)]


def _links(
    translation: Translation, sources: Sequence[_Unit], targets: Sequence[_Unit]
) -> list[list[int]]:
    """For each target unit, the source units in the words that its word is linked to."""
    found: list[list[int]] = [[] for _ in targets]
    source_starts = [unit.start for unit in sources]
    target_starts = [unit.start for unit in targets]
    read = written = 0
    for gap, each in zip(translation.parts.gaps, translation.sentences, strict=False):
        read, written = read + len(gap), written + len(gap)
        read_words, written_words = words(each.source, read), words(each.best.text, written)
        for source, target in sorted(each.links):
            if source < len(read_words) and target < len(written_words):
                inside = _inside(source_starts, read_words[source])
                for index in _inside(target_starts, written_words[target]):
                    found[index] += inside
        read, written = read + len(each.source), written + len(each.best.text)
    return found


def _inside(starts: Sequence[int], word: tuple[int, int]) -> range:
    return range(bisect_right(starts, word[0] - 1), bisect_right(starts, word[1] - 1))


def _stack(unit: _Unit, linked: Sequence[int], source: _Source) -> Optional[Stack]:
    """The marks that most of the linked words have; a punctuation mark follows its own kind."""
    same = [
        source.stacks[index]
        for index in linked
        if source.units[index].is_word == unit.is_word
        and (unit.is_word or source.units[index].text == unit.text)
    ]
    return Counter(same).most_common(1)[0][0] if same else None


def _resolve(stacks: Sequence[Optional[Stack]]) -> list[Stack]:
    """Units without links get the marks that both of their neighbours have."""
    following, after = list[Stack](), Stack()
    for stack in reversed(stacks):
        after = after if stack is None else stack
        following.append(after)
    found, before = list[Stack](), Stack()
    for stack, after in zip(stacks, reversed(following), strict=True):
        if stack is None:
            stack = _common(before, after)
        found.append(stack)
        before = stack
    return found


def _common(first: Stack, second: Stack) -> Stack:
    count = 0
    while count < min(len(first), len(second)) and first[count] == second[count]:
        count += 1
    return first[:count]


def _keep_all(stacks: list[Stack], units: Sequence[_Unit], source: _Source) -> None:
    """Give each mark that no target unit has the unit at its relative position."""
    inside: dict[Hashable, list[int]] = {}
    for index, stack in enumerate(source.stacks):
        for mark in stack:
            inside.setdefault(mark, []).append(index)
    counts = Counter(mark for stack in stacks for mark in stack)
    word_indices = [index for index, unit in enumerate(units) if unit.is_word]
    other_indices = [index for index, unit in enumerate(units) if not unit.is_word]
    for mark, indices in inside.items():
        if counts[mark]:
            continue
        middle = indices[len(indices) // 2]
        wanted = middle * (len(units) - 1) / max(1, len(source.units) - 1)
        for index in chain(_outwards(word_indices, wanted), _outwards(other_indices, wanted)):
            if all(counts[each] > 1 or each in source.stacks[middle] for each in stacks[index]):
                counts.subtract(stacks[index])
                counts.update(source.stacks[middle])
                stacks[index] = source.stacks[middle]
                break


def _outwards(indices: Sequence[int], wanted: float) -> Iterator[int]:
    """Indices, which are given in order, by their distance from a place."""
    after = bisect_left(indices, wanted)
    before = after - 1
    while before >= 0 or after < len(indices):
        if after == len(indices) or (
            before >= 0 and wanted - indices[before] <= indices[after] - wanted
        ):
            yield indices[before]
            before -= 1
        else:
            yield indices[after]
            after += 1


def _placed(
    source: _Source, units: Sequence[_Unit], links: Sequence[Sequence[int]]
) -> dict[int, list[Point]]:
    """The points by the target unit that they come before; after the last one at the end."""
    found: dict[int, list[Point]] = {}
    first, last = dict[int, int](), dict[int, int]()  # target units of each source unit
    for k, linked in enumerate(links):
        for each in linked:
            first.setdefault(each, k)
            last[each] = k
    for before, point in source.points:
        if before == 0 or before == len(source.units):
            at = 0 if before == 0 else len(units)
        else:
            relative = round(before * len(units) / len(source.units))
            preceding = last[before - 1] + 1 if before - 1 in last else relative
            at = first.get(before, preceding)
        found.setdefault(at, []).append(point)
    return found


def _emit(
    text: str, units: Sequence[_Unit], stacks: Sequence[Stack], points: dict[int, list[Point]]
) -> list[Union[Span, Point]]:
    """The text in order; white space between two units has the marks of both."""
    found, at, before = list[Union[Span, Point]](), 0, Stack()

    def add(piece: str, stack: Stack) -> None:
        last = found[-1] if found else None
        if isinstance(last, Span) and last.stack == stack:
            found[-1] = Span(last.text + piece, stack)
        elif piece:
            found.append(Span(piece, stack))

    for index, (unit, stack) in enumerate(zip(units, stacks, strict=True)):
        add(text[at : unit.start], _common(before, stack))
        found.extend(points.get(index, ()))
        add(unit.text, stack)
        at, before = unit.end, stack
    found.extend(points.get(len(units), ()))
    add(text[at:], ())
    return found
