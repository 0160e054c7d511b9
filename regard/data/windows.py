"""Streams in windows: items of like length are processed together, and results come in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, Optional, TypeVar

from regard.terminal import Count, uncounted

Item = TypeVar("Item")
Encoded = TypeVar("Encoded")
Result = TypeVar("Result")


def boundaries(
    lengths: Iterable[int], tokens: int, most: Optional[int] = None
) -> list[tuple[int, int]]:
    """Start and stop of consecutive rows whose number times the longest of them is at most
    `tokens`; at least one row each, and at most `most`."""
    found, start, longest, count = list[tuple[int, int]](), 0, 0, 0
    for row, length in enumerate(lengths):
        longest, count = max(longest, length), row + 1
        full = (count - start) * longest > tokens or (most is not None and count - start > most)
        if row > start and full:
            found.append((start, row))
            start, longest = row, length
    if count:
        found.append((start, count))
    return found


def group_by_length(lengths: Sequence[int], tokens: int, groups: int = 1) -> Iterator[list[int]]:
    """Indices of rows that go together, longest first; rows of length 0 are left out.

    No group has more rows than it would have if all were divided evenly into so many `groups`.
    """
    order = sorted((i for i, length in enumerate(lengths) if length), key=lambda i: -lengths[i])
    most = -(-len(order) // groups) if groups > 1 else None
    for start, stop in boundaries((lengths[i] for i in order), tokens, most):
        yield order[start:stop]


class Work(ABC, Generic[Item, Encoded, Result]):
    """What to do with the items of a stream."""

    @abstractmethod
    def encode(self, items: list[Item], first: int) -> list[Encoded]:
        """The items of a window; the first of them is number `first` of all, counted from 0."""

    @abstractmethod
    def length(self, encoded: Encoded) -> int:
        """How much an item counts towards the budget of its group; 0 leaves it out."""

    @abstractmethod
    def process(self, groups: Iterable[list[Encoded]]) -> Iterable[Sequence[Result]]:
        """The results of each group, in order."""

    def groups(self, items: int) -> int:
        """Into how many groups a window of this many items is divided at least, up to rounding."""
        return 1


def in_windows(
    work: Work[Item, Encoded, Result],
    items: Iterable[Item],
    size: int,
    tokens: int,
    empty: Result,
    count: Count = uncounted,
    first: int = 0,
) -> Iterator[Result]:
    """The result of each item, in order; `empty` for one that was left out.

    `size` items are read ahead and sorted by length; a group has at most `tokens`, padding
    included. `count` is told of each group that is done. The first item is number `first`.
    """
    stream = iter(items)
    while window := list(islice(stream, size)):
        encoded = work.encode(window, first)
        lengths = [work.length(each) for each in encoded]
        groups = list(group_by_length(lengths, tokens, work.groups(len(window))))
        found = [empty] * len(window)
        count(lengths.count(0))
        given = ([encoded[i] for i in group] for group in groups)
        for group, results in zip(groups, work.process(given), strict=True):
            for index, result in zip(group, results, strict=True):
                found[index] = result
            count(len(group))
        yield from found
        first += len(window)
