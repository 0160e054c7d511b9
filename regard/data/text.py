"""Lines of text from bytes: UTF-8 only, a line ends with LF, and nothing too long is held."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import BinaryIO, Union

from regard.data.packaging import START, refuse_other
from regard.data.reading import Reading, check_is_file
from regard.errors import UsageError

MAX_CHARACTERS = 100_000
"""Characters in a line; a longer one is not a sentence, and it is never held in memory."""

_MAX_BYTES = 4 * MAX_CHARACTERS + 8
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Bad(Enum):
    """Why a line cannot be used."""

    EMPTY = "empty"
    MISSING = "source or target missing"
    NUL = "NUL character"
    SURROGATE = "half a surrogate pair"
    LONG = f"longer than {MAX_CHARACTERS:,} characters"


Content = Union[str, Bad]
"""The text of one side, or why it cannot be used."""


def usable(text: str) -> Content:
    """The text, unless no pair can have it."""
    if len(text) > MAX_CHARACTERS:
        return Bad.LONG
    if "\0" in text:
        return Bad.NUL
    return text if text.strip() else Bad.EMPTY


def text_lines(reading: Reading, stream: io.BufferedReader) -> Iterator[Content]:
    """Every line of a file, the empty ones too."""
    name = str(reading.path)
    refuse_other(stream.peek(1)[:START], name)
    for line in _decode(_split(stream.readline, name), name, reading.note):
        reading.line += 1
        yield line


def read_plain(text: Path | BinaryIO, name: str = "stdin") -> Iterator[str]:
    """Every line, the empty ones too; messages call a stream by its `name`."""
    if isinstance(text, Path):
        check_is_file(text)
        name, lines = str(text), _of_file(text)
    else:
        lines = _decode(_split(text.readline, name), name, lambda note: None)
    for number, line in enumerate(lines, 1):
        if isinstance(line, Bad):
            raise UsageError(f"{name}:{number} is {line.value}: split it into several lines.")
        yield line


def _of_file(path: Path) -> Iterator[Content]:
    reading = Reading(path)
    with reading.opened() as stream:
        yield from text_lines(reading, stream)


def _split(read: Callable[[int], bytes], name: str) -> Iterator[bytes | None]:
    r"""Lines that end with \n and nothing else; None for one too long to hold in memory."""
    only = True
    while line := read(_MAX_BYTES):
        first, long = line, len(line) == _MAX_BYTES and not line.endswith(b"\n")
        while long and line and not line.endswith(b"\n"):
            line = read(_MAX_BYTES)
        if only and b"\r" in first[:-1] and not line.endswith(b"\n"):
            refuse_other(first[:START], name)  # what is not text may have any bytes
            raise UsageError(
                f"{name} has CR line ends, as on old Macintoshes: convert them to LF, for example "
                "with mac2unix."
            )
        only = False
        yield None if long else line.removesuffix(b"\n")


def _decode(
    lines: Iterator[bytes | None], name: str, note: Callable[[str], None]
) -> Iterator[Content]:
    for number, line in enumerate(lines, 1):
        if line is None:
            yield Bad.LONG
            continue
        if number == 1:
            refuse_other(line[:START], name)
            if line.startswith(_BYTE_ORDER_MARK):
                note(f"{name} began with a byte order mark: it was removed.")
                line = line[len(_BYTE_ORDER_MARK) :]
        if line.endswith(b"\r"):
            line = line[:-1]
            note(f"{name} has Windows line ends (CRLF): the CR was removed.")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{name}:{number} is not UTF-8 at byte {error.start + 1} "
                f"(0x{line[error.start]:02X}): convert the file to UTF-8."
            ) from None
        yield text if len(text) <= MAX_CHARACTERS else Bad.LONG
