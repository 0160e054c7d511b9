"""What every format of pairs does: records from a stream, two columns of which are the sides."""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional, Union

from regard.data.languages import Languages
from regard.data.reading import Reading
from regard.data.text import Content
from regard.errors import UsageError

_BREAK = re.compile(r"\r\n|\r|\n")
_SHOWN = 20


class Record(NamedTuple):
    """The sides of a pair as its file has them, and the line on which it begins; their languages,
    if there are columns of them."""

    line: int
    source: Content
    target: Content
    languages: Optional[Languages] = None


class Columns(NamedTuple):
    """Which two columns, keys or languages of a file are source and target, and which two columns
    or keys have their languages, if any do."""

    source: str
    target: str
    source_language: str = ""
    target_language: str = ""

    @staticmethod
    def of(given: Union[str, Sequence[str]], option: str = "columns") -> Columns:
        """From text such as `en,sv`, or from two names; or from four."""
        names = given.split(",") if isinstance(given, str) else list(given)
        names = [name.strip() for name in names]
        if len(names) not in (2, 4) or not all(names) or len(set(names)) < len(names):
            raise UsageError(
                f"--{option} needs two different names with a comma between them, such as en,sv, "
                "or four: source, target, source language and target language."
            )
        return Columns(*names)

    @property
    def sides(self) -> tuple[str, str]:
        return self.source, self.target

    @property
    def names(self) -> tuple[str, ...]:
        """The names that were given: two, or four."""
        return tuple(name for name in self if name)

    @property
    def has_languages(self) -> bool:
        return bool(self.target_language)

    def __str__(self) -> str:
        return ",".join(self.names)


class Format(ABC):
    """One way to write pairs in a file, being read."""

    def __init__(self, reading: Reading, columns: Optional[Columns]) -> None:
        self.reading = reading
        self.columns = columns

    @abstractmethod
    def records(self, stream: io.BufferedReader) -> Iterator[Record]:
        """Every pair of the file, usable or not."""

    def joined(self, text: str) -> str:
        """The text as one line: each line break inside it becomes a space."""
        if "\n" not in text and "\r" not in text:
            return text
        self.reading.note(f"{self.reading.path} has line breaks inside texts: they became spaces.")
        return _BREAK.sub(" ", text)


def languages_at(where: str, source: str, target: str) -> Languages:
    """The languages that two columns name; a text that is not a language tag is refused."""
    try:
        return Languages.of(source, target)
    except UsageError as problem:
        raise UsageError(f"{where}: {problem}") from None


def not_two(where: object, found: str, names: Sequence[str]) -> UsageError:
    """What to raise where source and target are not the only two texts."""
    if len(names) < 2:
        found += f" ({listed(names)})" if names else ""
        return UsageError(f"{where} has {found}: a pair needs two, its source and its target.")
    return UsageError(
        f"{where} has {found} ({listed(names)}): choose source and target, such as "
        "--columns translation.en,translation.de."
    )


def listed(names: Sequence[str]) -> str:
    """Names for a message; not all of very many, and each of them short."""
    short = [name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..." for name in names[:_SHOWN]]
    return ", ".join([*short, "..."] if len(names) > _SHOWN else short)
