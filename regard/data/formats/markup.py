"""What TMX and XLIFF share: XML read as a stream, texts without their inline tags, languages.

Nothing outside the file is ever read, and a file that declares entities is refused: entities can
expand without bound.
"""

from __future__ import annotations

import io
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Optional
from xml.parsers import expat

from regard.data.formats.base import Columns, Format, Record
from regard.data.reading import Reading
from regard.data.text import MAX_CHARACTERS
from regard.errors import UsageError

_CHUNK = 1 << 16
_MAX_TAG = 1 << 22
_MAX_DEPTH = 200
_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
"""Inline elements whose content is the markup of the original document and not text."""

_LAYOUT = re.compile(r"(?<![ \t])[ \t]*[\r\n]\s*")


class Markup(Format):
    """A format in XML; a subclass is told of elements and texts, and appends to `found`.

    Elements go by their names without prefix.
    """

    def __init__(self, reading: Reading, columns: Optional[Columns]) -> None:
        super().__init__(reading, columns)
        if columns is not None and columns.has_languages:
            raise UsageError(
                f"{reading.path} has no columns of languages: choose two languages, such as "
                f"--columns en,sv, or write the pairs as TSV, CSV or JSON lines."
            )
        self.found: list[Record] = []
        self.languages = dict[str, None]()
        self._path: list[str] = []  # the elements around the parser
        self._text: Optional[_Text] = None
        self._removed = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = self._skipped

    @property
    def line(self) -> int:
        """Where the parser is."""
        return self._parser.CurrentLineNumber

    @property
    def parent(self) -> str:
        """The element around the one that is told of; nothing if it is the outermost."""
        return self._path[-1] if self._path else ""

    @abstractmethod
    def opened(self, name: str, attributes: Mapping[str, str]) -> bool:
        """An element begins; true if its text is that of a side."""

    @abstractmethod
    def side(self, name: str, text: str) -> None:
        """The text of an element that was wanted."""

    @abstractmethod
    def closed(self, name: str) -> None:
        """An element ends."""

    @abstractmethod
    def finish(self) -> None:
        """The file has ended."""

    def records(self, stream: io.BufferedReader) -> Iterator[Record]:
        read, chunk = 0, b" "
        while chunk:
            chunk = stream.read(_CHUNK)
            read += len(chunk)
            self._parse(chunk)
            if read - self._parser.CurrentByteIndex > _MAX_TAG:
                raise UsageError(
                    f"{self.reading.at(self.line)} has a tag or a comment of more than 4 MB: "
                    "remove it."
                )
            self.reading.line = self.line
            yield from self.found
            self.found.clear()
        if self._removed:
            self.reading.note(
                f"Removed {self._removed:,} inline tags from the texts of {self.reading.path}."
            )
        self.finish()

    def note_languages(self, source: str, target: str) -> None:
        """Say which languages were taken without having been asked for."""
        self.reading.note(
            f"Read {source} as the source and {target} as the target of {self.reading.path}."
        )

    def _parse(self, chunk: bytes) -> None:
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            raise UsageError(
                f"{self.reading.at(error.lineno)} is not well-formed XML "
                f"({expat.ErrorString(error.code)}): correct it, or export the file again."
            ) from None
        except (LookupError, ValueError) as error:  # of an encoding that Python does not know
            raise UsageError(
                f"{self.reading.path} has an unknown encoding ({error}): convert it to UTF-8."
            ) from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = _local(name)
        if len(self._path) >= _MAX_DEPTH:
            raise UsageError(
                f"{self.reading.at(self.line)} has more than {_MAX_DEPTH} elements inside each "
                "other: export the file again."
            )
        if self._text is not None:
            self._removed += 1
            self._text.codes += name in _CODES
        elif self.opened(name, attributes):
            self._text = _Text(len(self._path))
        self._path.append(name)

    def _end(self, name: str) -> None:
        name = self._path.pop()
        if self._text is None:
            self.closed(name)
        elif len(self._path) > self._text.depth:
            self._text.codes -= name in _CODES
        else:
            text, self._text = str(self._text), None
            self.side(name, text)

    def _characters(self, data: str) -> None:
        if self._text is not None:
            self._text.add(data)

    def _doctype(self, name: str, system: str | None, public: str | None, inside: bool) -> None:
        if inside:
            raise UsageError(
                f"{self.reading.at(self.line)} has declarations inside its DOCTYPE, and entities "
                "could expand without bound: remove what is between [ and ]."
            )

    def _skipped(self, name: str, parameter: bool) -> None:
        if not parameter:
            raise UsageError(
                f"{self.reading.at(self.line)} has the entity &{name};, which XML does not know: "
                "write the character itself."
            )


class _Text:
    """The text of a side while it is read; what is longer than allowed is not kept."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.codes = 0  # elements of codes around the parser
        self._parts: list[str] = []
        self._length = 0

    def add(self, data: str) -> None:
        if not self.codes and self._length <= 2 * MAX_CHARACTERS:
            self._parts.append(data)
            self._length += len(data)

    def __str__(self) -> str:
        """With line breaks and the indentation after them as one space each."""
        return _LAYOUT.sub(" ", "".join(self._parts)).strip()


def is_language(asked: str, tag: str) -> bool:
    """Whether a tag is of the language that was asked for: en-US is of en, and not the other way
    round."""
    asked, tag = plain_tag(asked), plain_tag(tag)
    return tag == asked or tag.startswith(f"{asked}-")


def plain_tag(tag: str) -> str:
    """A language tag as it is compared: en_US and EN-us are the same."""
    return tag.strip().lower().replace("_", "-")


def _local(name: str) -> str:
    return name.rpartition(":")[2]
