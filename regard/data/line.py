"""What travels together from file to batch: a line with its annotations, and a pair of lines."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union

from regard.data.languages import Languages
from regard.errors import UsageError


class Line(NamedTuple):
    """A line of text and, if they are known, its dependency tree and its links to the target.

    The tree has the head of each word between spaces: k is the k-th word, counted from 1, and 0
    marks a root. A link is a word of this line and one of the target, counted from 0.
    """

    text: str
    tree: Optional[tuple[int, ...]] = None
    links: Optional[tuple[tuple[int, int], ...]] = None

    @staticmethod
    def of(text: Text) -> Line:
        if isinstance(text, Line):
            return text
        if not isinstance(text, str):
            raise UsageError(f"Give a line of text, or a list of them, not {text!r}.")
        return Line(text)

    def stripped(self) -> Line:
        """The same words without the white space around them."""
        return self._replace(text=self.text.strip())


class Pair(NamedTuple):
    """A source and its target; `number` counts all pairs of the files from 1, unusable ones too.

    `languages` are known where the file has columns of them.
    """

    number: int
    source: Line
    target: Line
    languages: Optional[Languages] = None

    @property
    def lines(self) -> tuple[Line, Line]:
        return self.source, self.target

    @property
    def texts(self) -> tuple[str, str]:
        return self.source.text, self.target.text


Text = Union[str, Line]
"""What callers may pass as a line."""

Sides = tuple[Text, Text]
"""A source and its target, as a person may give them."""
