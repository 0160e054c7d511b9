"""The pairs of some files: refuses files that cannot be right, counts pairs that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Optional

from regard.data.annotation import Annotation
from regard.data.annotations import Kinds, load
from regard.data.formats import records
from regard.data.formats.base import Columns, Record
from regard.data.languages import Languages
from regard.data.line import Line, Pair
from regard.data.reading import Reading, check_is_file
from regard.data.tags import TagKind, language_tags, tagged
from regard.data.targets import check_target
from regard.data.text import Bad, Content, read_plain, text_lines, usable
from regard.errors import UsageError
from regard.messages import counted
from regard.metrics.table import Writes

Beside = Mapping[Annotation, Path]
"""The files of annotations, one line for each line of source."""


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
    kept_of: tuple[int, ...]  # for each portion
    skipped: dict[str, Skipped]
    notes: tuple[str, ...]
    fingerprint: dict[str, str]
    directions: tuple[Languages, ...] = ()  # those that pairs are known to be of

    def sentences(self) -> list[str]:
        """One sentence for each thing worth knowing; none if all is well."""
        skips = [
            f"Skipped {skip.count:,} of {counted(self.read, 'pair')}: {reason} "
            f"(first at {skip.first})."
            for reason, skip in self.skipped.items()
        ]
        return [*skips, *self.notes]


@dataclass(frozen=True)
class Portion:
    """Files that belong together: two of lines, one of pairs, or one of target lines alone, with
    those that annotate the source.

    `weight` is how many times an epoch of training has each of the pairs. `languages` are those of
    every pair, if nothing in the files says otherwise.
    """

    files: tuple[Path, ...]
    annotations: Beside
    holds_pairs: bool = False  # in any format
    columns: Optional[Columns] = None
    weight: Fraction = Fraction(1)
    languages: Optional[Languages] = None

    @property
    def names(self) -> str:
        return " with ".join(str(path) for path in self.files)

    @property
    def all_files(self) -> tuple[Path, ...]:
        return (*self.files, *self.annotations.values())

    def rows(self, readings: Sequence[Reading]) -> Iterator[tuple[Record, list[Content]]]:
        """Each record of all files, of which these are the readings, with its annotations."""
        sides, beside = readings[: len(self.files)], readings[len(self.files) :]
        streams = [self._records(sides), *map(_lines, beside)]
        unit = "pair" if self.holds_pairs else "line"
        for record, *lines in _aligned([sides[0], *beside], streams, unit):
            yield record, lines

    def _records(self, sides: Sequence[Reading]) -> Iterator[Record]:
        if self.holds_pairs:
            yield from records(sides[0], self.columns)
            return
        lines = _aligned(sides, [_usable(reading) for reading in sides], "line")
        for number, row in enumerate(lines, 1):
            yield Record(number, row[0] if len(row) == 2 else "", row[-1])

    def annotated(self, source: Content, beside: Sequence[Content], number: int) -> Line:
        """Annotations of an empty source are checked too, but not those of one that could not be
        read."""
        line = Line("" if isinstance(source, Bad) else source)
        if isinstance(source, Bad) and source is not Bad.EMPTY:
            return line
        for (kind, path), text in zip(self.annotations.items(), beside, strict=True):
            where = f"{path}:{number}"
            if isinstance(text, Bad):
                raise UsageError(
                    f"{where} is {text.value}: split it and its source into several lines."
                )
            line = kind.read(line, text, where)
        return line

    def where(self, side: int, line: int) -> str:
        """File and line of a source (0) or target (1)."""
        return f"{self.files[0 if side == 0 else -1]}:{line}"


class Entry(NamedTuple):
    """A record of the portion with this index, with the lines that annotate it; and the pair that
    it is, if it can be used."""

    portion: int
    record: Record
    beside: tuple[Content, ...]
    pair: Optional[Pair]

    @property
    def bad(self) -> Optional[Bad]:
        """Why it cannot be used."""
        return _bad(self.record)


@dataclass(frozen=True)
class Task:
    """What a model reads of the source and writes as a target: lines are checked accordingly, and
    tagged with their languages if it reads such tags."""

    annotations: Kinds = ()
    writes: Writes = "text"
    tags: Optional[TagKind] = None


TEXT = Task()
"""Any text to any text."""


class Pairs:
    """Sentence pairs from files, one portion after the other.

    Iterating yields the usable pairs in the order of the files and holds one record of each file
    at a time; after a complete iteration `report` says what was read.
    """

    def __init__(self, portions: Sequence[Portion], task: Task = TEXT) -> None:
        self.portions = tuple(portions)
        self._task = task
        self.report: Report | None = None
        self._begins: list[int] = []  # for each portion, how many records came before it
        for path in self.files:
            check_is_file(path)

    def __iter__(self) -> Iterator[Pair]:
        return (entry.pair for entry in self.entries() if entry.pair is not None)

    def entries(self) -> Iterator[Entry]:
        """Every record of the files, usable or not."""
        tally = _Tally()
        self._begins = []
        for index, portion in enumerate(self.portions):
            before, kept, skipped = tally.read, 0, dict(tally.skipped)
            self._begins.append(before)
            readings = [Reading(path) for path in portion.all_files]
            for number, (record, beside) in enumerate(portion.rows(readings), 1):
                tally.read += 1
                annotated = portion.annotated(record.source, beside, number)
                bad = _bad(record)
                if bad is not None:
                    side = 0 if record.source is bad else 1
                    tally.skip(bad, portion.where(side, record.line))
                    yield Entry(index, record, tuple(beside), None)
                    continue
                kept += 1
                languages = record.languages or portion.languages
                pair = Pair(tally.read, annotated, Line(str(record.target)), languages)
                tally.directions[languages] = None
                pair = self._tagged(self._checked(pair, portion, record.line))
                yield Entry(index, record, tuple(beside), pair)
            if tally.read == before:
                raise UsageError(f"{portion.names} is empty: give a file with pairs.")
            if not kept:
                count = tally.read - before
                why = "; ".join(tally.reasons_since(skipped))
                all_of_them = f"all {count:,} were" if count > 1 else "its only one was"
                raise UsageError(
                    f"{portion.names} has no usable line: {all_of_them} skipped ({why})."
                )
            for reading in readings:
                reading.refuse_changed()
            tally.add(kept, readings)
        self.report = tally.report()

    def _checked(self, pair: Pair, portion: Portion, line: int) -> Pair:
        """The pair, if it can be read and written by the model it is for."""
        source, target = portion.where(0, line), portion.where(1, line)
        folder = portion.files[0].parent
        pair = pair._replace(source=load(pair.source, self._task.annotations, folder, source))
        for kind in self._task.annotations:
            kind.check_pair(*pair.lines, target)
        check_target(self._task.writes, pair, target)
        return pair

    def _tagged(self, pair: Pair) -> Pair:
        if self._task.tags is None or pair.languages is None:
            return pair
        tags = language_tags(self._task.tags, pair.languages)
        return pair._replace(source=tagged(pair.source, tags))

    def where(self, side: int, number: int) -> str:
        """File and line of the source (0) or target (1) of a pair, by its number.

        A file of pairs is read again up to it, since a record may have any number of lines.
        """
        first = [begin for begin in self._begins if begin < number]
        portion, index = self.portions[len(first) - 1], number - first[-1]
        if not portion.holds_pairs:
            return portion.where(side, index)
        rows = portion.rows([Reading(path) for path in portion.all_files])
        found = next(islice(rows, index - 1, None), None)
        return portion.where(side, index if found is None else found[0].line)

    @property
    def languages(self) -> list[str]:
        """The languages that lines are tagged with, if the files do not say them."""
        given = self.portions[0].languages
        columns = self.portions[0].columns
        named = columns is not None and columns.has_languages
        if self._task.tags is None or named or given is None:
            return []
        return [each or "" for each in given]

    @property
    def files(self) -> list[Path]:
        return [path for portion in self.portions for path in portion.all_files]

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
                f"{path} has more lines than the source, which has {count:,}: give one for each."
            )


def read_lines(text: Path | BinaryIO, annotations: Beside, kinds: Kinds = ()) -> Iterator[Line]:
    """Every line with its annotations; annotated lines are all checked before the first.

    Where a model reads these kinds, a file that a line names is looked for beside the text.
    """
    lines = annotate(read_plain(text), annotations)
    if isinstance(text, Path):
        lines = load_all(lines, kinds, text)
    return iter(list(lines)) if annotations else lines


def load_all(lines: Iterable[Line], kinds: Kinds, path: Path) -> Iterator[Line]:
    """The lines of a file as a model of these kinds reads them."""
    for number, line in enumerate(lines, 1):
        yield load(line.stripped(), kinds, path.parent, f"{path}:{number}") if kinds else line


@dataclass
class _Tally:
    read: int = 0
    kept: list[int] = field(default_factory=list)
    skipped: dict[Bad, Skipped] = field(default_factory=dict)
    readings: list[Reading] = field(default_factory=list)
    directions: dict[Optional[Languages], None] = field(default_factory=dict)

    def skip(self, bad: Bad, where: str) -> None:
        before = self.skipped.get(bad, Skipped(0, where))
        self.skipped[bad] = Skipped(before.count + 1, before.first)

    def reasons_since(self, earlier: Mapping[Bad, Skipped]) -> list[str]:
        return [bad.value for bad in Bad if self.skipped.get(bad) != earlier.get(bad)]

    def add(self, kept: int, readings: Iterable[Reading]) -> None:
        """A portion that was read to its end."""
        self.kept.append(kept)
        self.readings += readings

    def report(self) -> Report:
        return Report(
            read=self.read,
            kept=sum(self.kept),
            kept_of=tuple(self.kept),
            skipped={bad.value: self.skipped[bad] for bad in Bad if bad in self.skipped},
            notes=tuple(note for reading in self.readings for note in sorted(reading.notes)),
            fingerprint={str(reading.path): reading.digest for reading in self.readings},
            directions=tuple(sorted((each for each in self.directions if each), key=str)),
        )


def _bad(record: Record) -> Optional[Bad]:
    """Why a record cannot be used; nothing if it can."""
    if isinstance(record.source, Bad):
        return record.source
    return record.target if isinstance(record.target, Bad) else None


def _lines(reading: Reading) -> Iterator[Content]:
    with reading.opened() as stream:
        yield from text_lines(reading, stream)


def _usable(reading: Reading) -> Iterator[Content]:
    for line in _lines(reading):
        yield line if isinstance(line, Bad) else usable(line)
    if not reading.line:
        raise UsageError(f"{reading.path} is empty: give a file with one sentence per line.")


def _aligned(
    readings: Sequence[Reading], streams: Sequence[Iterator[Any]], unit: str
) -> Iterator[tuple[Any, ...]]:
    """Rows of all streams; if one ends first, the others are still counted for the message."""
    count, rows = 0, zip_longest(*streams)
    for row in rows:
        if None in row:
            break
        count += 1
        yield row
    else:
        return
    counts = [count + (each is not None) for each in row]
    for row in rows:
        counts = [more + (each is not None) for more, each in zip(counts, row, strict=True)]
    for reading, other in zip(readings, counts, strict=True):
        if other != counts[0]:
            raise UsageError(
                f"{readings[0].path} has {counted(counts[0], unit)} but {reading.path} has "
                f"{other:,}: line n of one must belong to line n of the other."
            )
