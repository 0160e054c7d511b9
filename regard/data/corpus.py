"""Reading text line by line: what cannot be right is refused, what cannot be used is counted."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from regard.data.trees import Heads, read_heads
from regard.errors import UsageError

LONGEST = 100_000
"""Characters in a line; a longer one is not a sentence, and it is never held in memory."""

_LONGEST_BYTES = 4 * LONGEST + 8
_BUFFER = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Bad(Enum):
    """Why a line cannot be used."""

    EMPTY = "empty"
    NUL = "NUL character"
    LONG = f"longer than {LONGEST:,} characters"


class Pair(NamedTuple):
    """A line of source and its line of target; lines count from 1.

    Beside the source there may be the heads of its words, as data/heads.py has them.
    """

    line: int
    source: str
    target: str
    heads: Heads | None = None


@dataclass(frozen=True)
class Skipped:
    """How many pairs one reason cost, and where the first of them stands."""

    count: int
    first: str


@dataclass(frozen=True)
class Report:
    """What a whole reading found."""

    read: int
    kept: int
    skipped: dict[str, Skipped]
    notes: tuple[str, ...]
    fingerprint: dict[str, str]

    def sentences(self) -> list[str]:
        """One printable line for each thing worth knowing; none if all is well."""
        skips = [
            f"Skipped {skip.count:,} of {self.read:,} pairs: {reason} (first at {skip.first})."
            for reason, skip in self.skipped.items()
        ]
        return [*skips, *self.notes]


class Pairs:
    """Sentence pairs from two files of lines, one TSV file, or target lines alone; a file with the
    heads of the source words may stand beside them.

    Iterating yields the usable pairs in the order of the file, never holding more than a line of
    each; after a whole iteration `report` says what was read.
    """

    def __init__(self, files: tuple[Path, ...], columns: int, heads: Path | None = None) -> None:
        self._files = files
        self._columns = columns
        self._heads = heads
        self.report: Report | None = None
        for path in self._all_files():
            _check_is_file(path)

    @staticmethod
    def of_files(source: Path, target: Path, heads: Path | None = None) -> Pairs:
        """Line n of one file belongs to line n of the other."""
        return Pairs((Path(source), Path(target)), columns=1, heads=heads)

    @staticmethod
    def of_tsv(path: Path, heads: Path | None = None) -> Pairs:
        """Source and target with a tab between them."""
        return Pairs((Path(path),), columns=2, heads=heads)

    @staticmethod
    def of_target(path: Path) -> Pairs:
        """Lines with an empty source, for a language model."""
        return Pairs((Path(path),), columns=1)

    def __iter__(self) -> Iterator[Pair]:
        tally = _Tally()
        readings = [_Reading(path) for path in self._all_files()]
        for number, (*row, tree) in enumerate(self._rows(readings), 1):
            tally.read = number
            heads = self._read_heads(row[0], tree, number)
            bad = next((side for side in row if isinstance(side, Bad)), None)
            if bad is not None:
                tally.skip(bad, self._where(row, bad, number))
                continue
            source, target = row if len(row) == 2 else ("", row[0])
            tally.kept += 1
            yield Pair(number, str(source), str(target), heads)
        if not tally.kept:
            raise UsageError(
                f"{self._names()} has no usable line: all {tally.read:,} were skipped."
            )
        self.report = tally.report(readings)

    def check(self) -> Report:
        """Read everything once, so that what is wrong shows before training begins."""
        for _ in self:
            pass
        assert self.report is not None
        return self.report

    def fingerprint(self) -> dict[str, str]:
        """The sha256 of each file's bytes, by its path."""
        report = self.report or self.check()
        return report.fingerprint

    def _all_files(self) -> tuple[Path, ...]:
        return self._files if self._heads is None else (*self._files, self._heads)

    def _rows(self, readings: list[_Reading]) -> Iterator[tuple[str | Bad | None, ...]]:
        """The sides of each pair, and the line of heads or None."""
        sides = len(self._files)
        streams = [_usable(reading) for reading in readings[:sides]]
        streams += [reading.lines() for reading in readings[sides:]]
        rows = _aligned(readings, streams) if len(streams) > 1 else zip(streams[0])
        whole = ((*row, None) for row in rows) if self._heads is None else rows
        if self._columns == 1:
            return whole
        return ((*self._split(line, number), tree) for number, (line, tree) in enumerate(whole, 1))

    def _read_heads(
        self, source: str | Bad | None, tree: str | Bad | None, number: int
    ) -> Heads | None:
        """Checked for an empty source too, but not for one that could not be read."""
        if tree is None or source in (Bad.LONG, Bad.NUL):
            return None
        where = f"{self._heads}:{number}"
        if isinstance(tree, Bad):
            raise UsageError(
                f"{where} is {tree.value}: split it and its source into several lines."
            )
        words = len(source.split()) if isinstance(source, str) else 0
        return read_heads(tree, words, where)

    def _split(self, line: str | Bad | None, number: int) -> tuple[str | Bad | None, ...]:
        if line is None or isinstance(line, Bad):
            return (line, line)
        columns = line.split("\t")
        if len(columns) != 2:
            raise UsageError(
                f"{self._files[0]}:{number} has {len(columns)} columns: write source and target "
                "with one tab between them."
            )
        return tuple(side if side.strip() else Bad.EMPTY for side in columns)

    def _where(self, row: Sequence[str | Bad | None], bad: Bad, number: int) -> str:
        return f"{self._files[min(row.index(bad), len(self._files) - 1)]}:{number}"

    def _names(self) -> str:
        return " with ".join(str(path) for path in self._files)


def read_beside(path: Path, lines: Iterable[str]) -> Iterator[Heads]:
    """The heads on each line of a file, which must be those of the words of as many lines."""
    count = 0
    trees = read_plain(path)
    for count, line in enumerate(lines, 1):
        tree = next(trees, None)
        if tree is None:
            raise UsageError(
                f"{path} ends before line {count:,} of the source: give a line for each."
            )
        yield read_heads(tree, len(line.split()), f"{path}:{count}")
    if next(trees, None) is not None:
        raise UsageError(
            f"{path} has more than the {count:,} lines of the source: give one for each."
        )


def read_plain(text: Path | BinaryIO, name: str = "stdin") -> Iterator[str]:
    """Every line, the empty ones too; `name` stands in messages for a stream."""
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
        """The lines of the file, gzip or not, which its first bytes tell, since names lie."""
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
    """Passes the bytes of a file through and hashes them on the way."""

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
        raise UsageError(f"{path} is a folder: give a file with one sentence a line.")
    if not path.is_file():
        raise UsageError(
            f"{path} is not a regular file, and it is read more than once: save it first."
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
    r"""Lines that end with \n and nothing else; None for one too long to be held."""
    while line := read(_LONGEST_BYTES):
        if line.endswith(b"\n"):
            yield line[:-1]
        elif len(line) < _LONGEST_BYTES:
            yield line
        else:
            while line and not line.endswith(b"\n"):
                line = read(_LONGEST_BYTES)
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
        yield text if len(text) <= LONGEST else Bad.LONG


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
        raise UsageError(f"{reading.path} is empty: give a file with one sentence a line.")


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
