"""The base of annotations: a value, or several, for each piece of a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Optional

import numpy as np
from numpy.typing import NDArray

from regard.data.line import Line
from regard.data.pictures import Picture

Values = NDArray[Any]
"""One value per piece: whole numbers (pieces,), or F numbers (pieces, F)."""

Words = Sequence[Sequence[int]]
"""The ids of each word of a line."""

Points = tuple[tuple[float, float], ...]
"""Points in the plane."""


class Annotation(ABC):
    """A value, or several, for each piece of a source line.

    A family lists those that its models read. One with an `option` is read from a file, line by
    line, and stays with its `Line`; the others follow from the text. One that `reads_target` is
    made when both sides are known, as in training; it then says what it is without a target.
    """

    name: ClassVar[str]  # in `Row.annotations`, `Padded.annotations` and the files of a store
    fill: ClassVar[float]  # at EOS and at padding
    description: ClassVar[str]
    option: ClassVar[Optional[str]] = None  # the field of `Parallel` and the command-line option
    reads_target: ClassVar[bool] = False
    replaces_ids: ClassVar[bool] = False  # the model reads it instead of the ids of words

    @property
    def stored(self) -> str:
        """The numpy type in a store; "(2,)<f4" is two numbers per piece."""
        return "<i4"

    def between(self, marker: str) -> Annotation:
        """The same for lines whose sentences have this marker between them."""
        return self

    def load(self, line: Line, folder: Path, where: str) -> Line:
        """The line that a text stands for, such as the picture in a file of that path, which may be
        relative to the folder."""
        return line

    def check(self, line: Line, where: str) -> None:
        """Refuse a line whose annotation is missing or wrong."""
        return

    def shown(self, line: Line) -> str:
        """How pages show the line."""
        return line.text

    def picture(self, values: Values) -> Optional[Picture]:
        """The picture that the values of the pieces are, if they are one."""
        return None

    def points(self, line: Line) -> Points:
        """The points in the plane that the words are, if they are points."""
        return ()

    def check_pair(self, line: Line, target: Line, where: str) -> None:
        """Refuse what does not fit the target, where one is known."""
        return

    def read(self, line: Line, text: str, where: str) -> Line:
        """The line with the annotation from its line of the annotation file."""
        return line

    def write(self, line: Line) -> str:
        """What `read` reads."""
        return ""

    def ids(self, line: Line, words: Words) -> Words:
        """The ids of each word that is text; one that is not has none."""
        return words

    @abstractmethod
    def of_pieces(self, line: Line, words: Words) -> Values:
        """The values of the pieces, given the ids of each word."""

    def of_pair(self, line: Line, words: Words, target: Words) -> Values:
        """The same, where the ids of each word of the target are known."""
        return self.of_pieces(line, words)

    def kept(self, values: Values, length: int) -> slice:
        """Which pieces of a longer line remain when it is truncated to `length` of them."""
        return slice(0, length)

    def truncate(self, values: Values, kept: slice) -> Values:
        """The values of the pieces that remain."""
        return values[kept]

    @abstractmethod
    def example(self, ids: Sequence[int]) -> Values:
        """Values for pieces with these ids, to try a model on."""


def whole(values: Sequence[int]) -> Values:
    """Whole numbers, one per piece."""
    return np.array(values, np.int64)
