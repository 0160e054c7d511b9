"""Reads text line by line: refuses files that cannot be right, counts lines that cannot be used."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Union

from regard.data.annotations import Annotation, Kinds
from regard.data.line import Line, Pair
from regard.data.targets import check_target
from regard.errors import UsageError
from regard.metrics.table import Writes

MAX_CHARACTERS = 100_000
"""Characters in a line; a longer one is not a sentence, and it is never held in memory."""

_MAX_BYTES = 4 * MAX_CHARACTERS + 8
_BUFFER = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Bad(Enum):
    """Why a line cannot be used."""

    EMPTY = "empty"
    NUL = "NUL character"
    LONG = f"longer than {MAX_CHARACTERS:,} characters"


_Lines = tuple[Union[str, Bad], ...]


@dataclass(frozen=True)
class Skipped:
    """How many pairs were skipped for one reason, and file and line of the first."""

    count: int
    first: str


@dataclass(frozen=True)
class Report:
    """What one complete pass over the files found."""

    read: int
    kept: int
    skipped: dict[str, Skipped]
    notes: tuple[str, ...]
    fingerprint: dict[str, str]

    def sentences(self) -> list[str]:
        """One sentence for each thing worth knowing; none if all is well."""
        skips = [
            f"Skipped {skip.count:,} of {self.read:,} pairs: {reason} (first at {skip.first})."
            for reason, skip in self.skipped.items()
        ]
        return [*skips, *self.notes]


Beside = Mapping[Annotation, Path]
"""The files of annotations, one line for each line of source."""


@dataclass(frozen=True)
class Task:
    """What a model reads of the source and writes as a target: lines are checked accordingly."""

    annotations: Kinds = ()
    writes: Writes = "text"


TEXT = Task()
"""Any text to any text."""


class Pairs:
    """Sentence pairs from two files of lines, one TSV file, or target lines alone, with the files
    that annotate the source.

    Iterating yields the usable pairs in the order of the file and holds one line of each file at a
    time; after a complete iteration `report` says what was read.
    """

    def __init__(
        self,
        files: tuple[Path, ...],
        columns: int,
        annotations: Beside | None = None,
        task: Task = TEXT,
    ) -> None:
        self._files = files
        self._columns = columns
        self._annotations = dict(annotations or {})
        self._task = task
        self.report: Report | None = None
        for path in self._all_files():
            _check_is_file(path)

    @staticmethod
    def of_files(
        source: Path, target: Path, annotations: Beside | None = None, task: Task = TEXT
    ) -> Pairs:
        """Line n of one file belongs to line n of the other."""
        return Pairs((Path(source), Path(target)), 1, annotations, task)

    @staticmethod
    def of_tsv(path: Path, annotations: Beside | None = None, task: Task = TEXT) -> Pairs:
        """Source and target with a tab between them."""
        return Pairs((Path(path),), 2, annotations, task)

    @staticmethod
    def of_target(path: Path) -> Pairs:
        """Lines with an empty source, for a language model."""
        return Pairs((Path(path),), columns=1)

    def __iter__(self) -> Iterator[Pair]:
        tally = _Tally()
        readings = [_Reading(path) for path in self._all_files()]
        for number, (row, beside) in enumerate(self._rows(readings), 1):
            tally.read = number
            source, target = row if len(row) == 2 else ("", row[0])
            annotated = self._annotated(source, beside, number)
            bad = next((side for side in row if isinstance(side, Bad)), None)
            if bad is not None:
                tally.skip(bad, self.where(row.index(bad), number))
                continue
            tally.kept += 1
            yield self._checked(Pair(number, annotated, Line(str(target))))
        if not tally.kept:
            raise UsageError(
                f"{self._names()} has no usable line: all {tally.read:,} were skipped."
            )
        self.report = tally.report(readings)

    def _checked(self, pair: Pair) -> Pair:
        """The pair, if it can be read and written by the model it is for."""
        for kind in self._task.annotations:
            kind.check(pair.source, self.where(0, pair.number))
            kind.check_pair(*pair.lines, self.where(1, pair.number))
        check_target(self._task.writes, pair, self.where(1, pair.number))
        return pair

    def where(self, side: int, number: int) -> str:
        """File and line of a pair's source (0) or target (1)."""
        return f"{self._files[min(side, len(self._files) - 1)]}:{number}"

    def check(self) -> Report:
        """Read everything once, so that errors show before training begins."""
        for _ in self:
            pass
        assert self.report is not None
        return self.report

    def fingerprint(self) -> dict[str, str]:
        """The sha256 of each file's bytes, by its path."""
        report = self.report or self.check()
        return report.fingerprint

    def _all_files(self) -> tuple[Path, ...]:
        return (*self._files, *self._annotations.values())

    def _rows(self, readings: list[_Reading]) -> Iterator[tuple[_Lines, _Lines]]:
        """The sides of each pair, and its lines of annotations."""
        sides = len(self._files)
        streams = [_usable(reading) for reading in readings[:sides]]
        streams += [reading.lines() for reading in readings[sides:]]
        rows = _aligned(readings, streams) if len(streams) > 1 else zip(streams[0])
        for number, row in enumerate(rows, 1):
            split = self._split(row[0], number) if self._columns == 2 else row[:sides]
            yield split, row[sides:]

    def _annotated(self, source: str | Bad, beside: _Lines, number: int) -> Line:
        """Annotations of an empty source are checked too, but not those of one that could not be
        read."""
        line = Line("" if isinstance(source, Bad) else source)
        if source in (Bad.LONG, Bad.NUL):
            return line
        for (kind, path), text in zip(self._annotations.items(), beside, strict=True):
            where = f"{path}:{number}"
            if isinstance(text, Bad):
                raise UsageError(
                    f"{where} is {text.value}: split it and its source into several lines."
                )
            line = kind.read(line, text, where)
        return line

    def _split(self, line: str | Bad, number: int) -> _Lines:
        if isinstance(line, Bad):
            return (line, line)
        columns = line.split("\t")
        if len(columns) != 2:
            raise UsageError(
                f"{self._files[0]}:{number} has {len(columns)} columns: write source and target "
                "with one tab between them."
            )
        return tuple(side if side.strip() else Bad.EMPTY for side in columns)

    def _names(self) -> str:
        return " with ".join(str(path) for path in self._files)


def annotate(lines: Iterable[str], annotations: Beside) -> Iterator[Line]:
    """Each line with its annotations, of which every file must have a line for each."""
    streams = {kind: (path, read_plain(path)) for kind, path in annotations.items()}
    count = 0
    for count, text in enumerate(lines, 1):
        line = Line(text)
        for kind, (path, stream) in streams.items():
            values = next(stream, None)
            if values is None:
                raise UsageError(
                    f"{path} ends before line {count:,} of the source: give one line for each."
                )
            line = kind.read(line, values, f"{path}:{count}")
        yield line
    for path, stream in streams.values():
        if next(stream, None) is not None:
            raise UsageError(
                f"{path} has more than the {count:,} lines of the source: give one line for each."
            )


def read_lines(text: Path | BinaryIO, annotations: Beside) -> Iterator[Line]:
    """Every line with its annotations; annotated lines are all checked before the first."""
    lines = annotate(read_plain(text), annotations)
    return iter(list(lines)) if annotations else lines


def read_plain(text: Path | BinaryIO, name: str = "stdin") -> Iterator[str]:
    """Every line, the empty ones too; messages call a stream by its `name`."""
    if isinstance(text, Path):
        _check_is_file(text)
        name, lines = str(text), _Reading(text).lines()
    else:
        lines = _decode(_split(text.readline), name, set())
    for number, line in enumerate(lines, 1):
        if isinstance(line, Bad):
            raise UsageError(f"{name}:{number} is {line.value}: split it into several lines.")
        yield line


@dataclass
class _Tally:
    read: int = 0
    kept: int = 0
    skipped: dict[Bad, Skipped] = field(default_factory=dict)

    def skip(self, bad: Bad, where: str) -> None:
        before = self.skipped.get(bad, Skipped(0, where))
        self.skipped[bad] = Skipped(before.count + 1, before.first)

    def report(self, readings: list[_Reading]) -> Report:
        return Report(
            read=self.read,
            kept=self.kept,
            skipped={bad.value: self.skipped[bad] for bad in Bad if bad in self.skipped},
            notes=tuple(note for reading in readings for note in sorted(reading.notes)),
            fingerprint={str(reading.path): reading.digest for reading in readings},
        )


class _Reading:
    """One pass over one file; `notes` and `digest` are complete at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: set[str] = set()
        self.digest = ""

    def lines(self) -> Iterator[str | Bad]:
        """The lines of the file, which is gzip if its first bytes say so, whatever its name is."""
        name, count = str(self.path), 0
        with _opened(self.path) as raw:
            hashed = _Hashed(raw)
            plain = io.BufferedReader(hashed, _BUFFER)
            try:
                packed = plain.peek(2)[:2] == b"\x1f\x8b"
                read = gzip.GzipFile(fileobj=plain).readline if packed else plain.readline
                for line in _decode(_split(read), name, self.notes):
                    count += 1
                    yield line
            except (EOFError, zlib.error, gzip.BadGzipFile):
                raise UsageError(
                    f"{name} is a damaged gzip file, readable up to line {count:,}: copy it again."
                ) from None
            except OSError as error:
                raise UsageError(f"Cannot read {name}: {error.strerror or error}.") from None
            self.digest = hashed.hash.hexdigest()


class _Hashed(io.RawIOBase):
    """Passes the bytes of a file through and hashes them."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self.hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self._raw.readinto(buffer) or 0
        self.hash.update(buffer[:count])
        return count


def _check_is_file(path: Path) -> None:
    try:
        path.stat()
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None
    if path.is_dir():
        raise UsageError(f"{path} is a folder: give a file with one sentence per line.")
    if not path.is_file():
        raise UsageError(
            f"{path} is not a regular file, but it is read more than once: save it to a file first."
        )


@contextmanager
def _opened(path: Path) -> Iterator[io.RawIOBase]:
    try:
        raw = path.open("rb", buffering=0)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None
    with raw:
        yield raw


def _split(read: Callable[[int], bytes]) -> Iterator[bytes | None]:
    r"""Lines that end with \n and nothing else; None for one too long to hold in memory."""
    while line := read(_MAX_BYTES):
        if line.endswith(b"\n"):
            yield line[:-1]
        elif len(line) < _MAX_BYTES:
            yield line
        else:
            while line and not line.endswith(b"\n"):
                line = read(_MAX_BYTES)
            yield None


def _decode(lines: Iterator[bytes | None], name: str, notes: set[str]) -> Iterator[str | Bad]:
    for number, line in enumerate(lines, 1):
        if line is None:
            yield Bad.LONG
            continue
        if number == 1:
            line = _without_mark(line, name, notes)
        if line.endswith(b"\r"):
            line = line[:-1]
            notes.add(f"{name} has Windows line ends (CRLF): the CR was removed.")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{name}:{number} is not UTF-8 at byte {error.start + 1} "
                f"(0x{line[error.start]:02X}): convert the file to UTF-8."
            ) from None
        yield text if len(text) <= MAX_CHARACTERS else Bad.LONG


def _without_mark(line: bytes, name: str, notes: set[str]) -> bytes:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{name} is UTF-16: convert it to UTF-8.")
    if line.startswith(_BYTE_ORDER_MARK):
        notes.add(f"{name} began with a byte order mark: it was removed.")
        return line[len(_BYTE_ORDER_MARK) :]
    return line


def _usable(reading: _Reading) -> Iterator[str | Bad]:
    line: str | Bad | None = None
    for line in reading.lines():
        if isinstance(line, Bad):
            yield line
        elif "\0" in line:
            yield Bad.NUL
        else:
            yield line if line.strip() else Bad.EMPTY
    if line is None:
        raise UsageError(f"{reading.path} is empty: give a file with one sentence per line.")


def _aligned(
    readings: list[_Reading], streams: list[Iterator[str | Bad]]
) -> Iterator[tuple[str | Bad, ...]]:
    """Rows of all files; if one ends first, the others are still counted for the message."""
    counts = [0] * len(streams)
    for row in zip_longest(*streams):
        counts = [count + (line is not None) for count, line in zip(counts, row, strict=True)]
        if min(counts) == max(counts):
            yield row
    for reading, count in zip(readings, counts, strict=True):
        if count != counts[0]:
            raise UsageError(
                f"{readings[0].path} has {counts[0]:,} lines but {reading.path} has {count:,}: "
                "line n of one must belong to line n of the other."
            )
