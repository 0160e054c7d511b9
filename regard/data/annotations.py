"""What may be known of a line besides its text: read from a file, carried to its pieces."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Optional

from regard.data.line import Line
from regard.errors import UsageError
from regard.messages import counted

Values = Sequence[int]

ROOT, INSIDE_WORD = -1, -2
"""In the tree of pieces: a piece that has no head, and a piece that is not the first of a word."""

_SHOWN = 20


class Annotation(ABC):
    """One kind of annotation: a number for each word of a line, then one for each piece.

    A family lists the kinds that its models read; each kind is a class without instances.
    """

    name: ClassVar[str]  # in `Row.annotations`, `Padded.annotations` and the files of a store
    fill: ClassVar[int]  # at EOS and at padding
    option: ClassVar[str]  # the field of `Parallel` and the command-line option with its file
    description: ClassVar[str]

    @staticmethod
    @abstractmethod
    def of(line: Line) -> Optional[tuple[int, ...]]:
        """The values of a line's words, if they are known."""

    @staticmethod
    @abstractmethod
    def add(line: Line, values: Values) -> Line:
        """The line with these values for its words."""

    @staticmethod
    @abstractmethod
    def read(text: str, words: int, where: str) -> tuple[int, ...]:
        """Parse a line of an annotation file whose source has so many words."""

    @staticmethod
    @abstractmethod
    def check(values: Values, words: int, where: str) -> None:
        """Refuse values that cannot be those of a line of so many words."""

    @staticmethod
    @abstractmethod
    def of_pieces(values: Values, words: Sequence[Sequence[int]]) -> list[int]:
        """One value per piece, from the values of the words and the ids of each word."""

    @staticmethod
    @abstractmethod
    def of_words(values: Values) -> tuple[int, ...]:
        """The values of the words again, from those of their pieces."""

    @staticmethod
    @abstractmethod
    def truncate(values: Values, length: int) -> list[int]:
        """The values of the pieces that remain when a line is truncated to `length` pieces."""

    @staticmethod
    @abstractmethod
    def example(length: int) -> list[int]:
        """Values of so many pieces, to try a model on."""


class DependencyTree(Annotation):
    """The head of each word.

    Of words: k is the k-th word of the line, counted from 1, and 0 is a root. Of pieces: the first
    piece of a word has the index of the first piece of its head, or ROOT; the others have
    INSIDE_WORD. EOS and padding are roots of their own.
    """

    name = "tree"
    fill = ROOT
    option = "trees"
    description = "the dependency tree of each source line"

    @staticmethod
    def of(line: Line) -> Optional[tuple[int, ...]]:
        return line.tree

    @staticmethod
    def add(line: Line, values: Values) -> Line:
        return line._replace(tree=tuple(values))

    @staticmethod
    def read(text: str, words: int, where: str) -> tuple[int, ...]:
        numbers = text.split()
        try:
            heads = tuple(map(int, numbers))
        except ValueError:
            wrong = next(number for number in numbers if not re.fullmatch(r"-?\d{1,9}", number))
            raise UsageError(
                f"{where} has '{wrong[:_SHOWN]}' among the heads: write the number of each word's "
                "head, and 0 for a root."
            ) from None
        DependencyTree.check(heads, words, where)
        return heads

    @staticmethod
    def check(values: Values, words: int, where: str) -> None:
        """A line may have several roots, since it may hold several sentences."""
        if len(values) != words:
            raise UsageError(
                f"{where} has {counted(len(values), 'head')}, but its source has "
                f"{counted(words, 'word')}: give one "
                "head for each word between spaces."
            )
        for word, head in enumerate(values, 1):
            if not 0 <= head <= words:
                raise UsageError(
                    f"{where} gives word {word} the head {head}, but its source has {words:,} "
                    "words: count them from 1, and write 0 for a root."
                )
        if (word_in_cycle := _cycle(values)) is not None:
            raise UsageError(
                f"{where} is not a tree: going from head to head, word {word_in_cycle} comes back "
                "to itself."
            )

    @staticmethod
    def of_pieces(values: Values, words: Sequence[Sequence[int]]) -> list[int]:
        starts, end = [ROOT], 0
        for ids in words:
            starts.append(end)
            end += len(ids)
        found: list[int] = []
        for head, ids in zip(values, words, strict=True):
            found += [starts[head], *[INSIDE_WORD] * (len(ids) - 1)]
        return found

    @staticmethod
    def of_words(values: Values) -> tuple[int, ...]:
        starts = [index for index, head in enumerate(values) if head != INSIDE_WORD]
        word_at = {index: word for word, index in enumerate(starts, 1)}
        return tuple(word_at.get(values[index], 0) for index in starts)

    @staticmethod
    def truncate(values: Values, length: int) -> list[int]:
        """A word whose head is dropped hangs on the nearest word above it that remains."""
        kept = list(values[:length])
        for index, head in enumerate(kept):
            while head >= length:
                head = values[head]
            kept[index] = head
        return kept

    @staticmethod
    def example(length: int) -> list[int]:
        """Two branches and a word of two pieces; all further words are roots."""
        tree = [ROOT, 0, 0, INSIDE_WORD, 2, 4, 1]
        return [*tree[:length], *[ROOT] * (length - len(tree))]


ANNOTATIONS: dict[str, type[Annotation]] = {DependencyTree.name: DependencyTree}
"""Every kind of annotation by its name."""

Kinds = tuple[type[Annotation], ...]


def _cycle(heads: Values) -> Optional[int]:
    """A word that is above itself, if there is one."""
    safe = {0}
    for word in range(1, len(heads) + 1):
        path = dict[int, None]()
        while word not in safe:
            if word in path:
                return word
            path[word] = None
            word = heads[word - 1]
        safe.update(path)
    return None
