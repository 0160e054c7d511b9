"""What every format of pairs does: records from a stream, two columns of which are the sides."""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional, Union

from regard.data.reading import Reading
from regard.data.text import Content
from regard.errors import UsageError

_BREAK = re.compile(r"\r\n|\r|\n")
_SHOWN = 20


class Record(NamedTuple):
    """The sides of a pair as its file has them, and the line on which it begins."""

    line: int
    source: Content
    target: Content


class Columns(NamedTuple):
    """Which two columns, keys or languages of a file are source and target."""

    source: str
    target: str

    @staticmethod
    def of(given: Union[str, Sequence[str]], option: str = "columns") -> Columns:
        """From text such as `en,sv`, or from two names."""
        names = given.split(",") if isinstance(given, str) else list(given)
        names = [name.strip() for name in names]
        if len(names) != 2 or not all(names) or names[0] == names[1]:
            raise UsageError(
                f"--{option} needs two different names with a comma between them, such as en,sv."
            )
        return Columns(*names)

    def __str__(self) -> str:
        return ",".join(self)


class Format(ABC):
    """One way to write pairs in a file, being read."""

    def __init__(self, reading: Reading, columns: Optional[Columns]) -> None:
        self.reading = reading
        self.columns = columns

    @abstractmethod
    def records(self, stream: io.BufferedReader) -> Iterator[Record]:
        """Every pair of the file, those that cannot be used too."""

    def joined(self, text: str) -> str:
        """The text as one line: each line break inside it becomes a space."""
        if "\n" not in text and "\r" not in text:
            return text
        self.reading.note(f"{self.reading.path} has line breaks inside texts: they became spaces.")
        return _BREAK.sub(" ", text)


def listed(names: Sequence[str]) -> str:
    """Names for a message; not all of very many, and each of them short."""
    short = [name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..." for name in names[:_SHOWN]]
    return ", ".join([*short, "..."] if len(names) > _SHOWN else short)
