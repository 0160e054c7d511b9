"""What all documents have in common: marked texts out, marked texts in, a file back."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Union, cast

from regard.serving.markup import Marked, Point, Span, Stack, plain
from regard.serving.refusal import RefusedError, invalid

Item = Union[Point, list[Union[Span, Point]]]
"""Something that stays where it is, such as a tab, or a text to translate."""

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Document(ABC):
    """A file that was read; it is written once."""

    texts: Sequence[Marked]
    """What is to be translated, in order."""

    @abstractmethod
    def write(self, texts: Sequence[Marked]) -> bytes:
        """The file with other texts."""


def unreadable() -> RefusedError:
    return invalid("the file is damaged, or is not what its name says")


def is_prose(item: Item) -> bool:
    """Whether there is something to translate."""
    return isinstance(item, list) and any(letter.isalnum() for letter in plain(item))


def legal(text: str) -> str:
    """Text without the control characters that XML cannot hold."""
    return _NO_XML.sub("", text)


class Paragraph:
    """A paragraph of a word processor. The stack of each part is its whole formatting; the one that
    most characters have is the base, which words without a counterpart get too."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._base = _base(items)
        self.texts = [self._relative(item) for item in items if is_prose(item)]

    def replaced(self, texts: Iterator[Marked]) -> Iterator[Union[Span, Point]]:
        """Everything in the paragraph, with the next of these texts in the place of its own."""
        for item in self._items:
            if isinstance(item, Point):
                yield item
            elif is_prose(item):
                for each in next(texts):
                    whole = each.stack[0] if each.stack else self._base
                    yield each._replace(stack=cast(Stack, whole))
            else:
                yield from item

    def _relative(self, item: Item) -> list[Union[Span, Point]]:
        """A text whose marks say what differs from the base."""
        assert isinstance(item, list)
        return [
            each._replace(stack=() if each.stack == self._base else (each.stack,)) for each in item
        ]


def _base(items: Sequence[Item]) -> Stack:
    counts = Counter[Stack]()
    for item in items:
        for each in item if isinstance(item, list) else ():
            if isinstance(each, Span):
                counts[each.stack] += len(each.text)
    return counts.most_common(1)[0][0] if counts else ()


class ItemReader:
    """Collects the items of a paragraph in order."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def text(self, text: str, stack: Stack) -> None:
        self._open().append(Span(text, stack))

    def point(self, point: Point) -> None:
        """Something that moves with the words around it."""
        self._open().append(point)

    def divide(self, point: Point) -> None:
        """Something that ends a text and stays between it and the next."""
        self.items.append(point)

    def _open(self) -> list[Union[Span, Point]]:
        if not self.items or isinstance(self.items[-1], Point):
            self.items.append([])
        last = self.items[-1]
        assert isinstance(last, list)
        return last
