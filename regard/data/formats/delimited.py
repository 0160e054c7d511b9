"""TSV and CSV: one pair per row, two columns of which are source and target."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from regard.data.formats.base import Columns, Format, Record, languages_at, listed
from regard.data.text import Bad, text_lines, usable
from regard.errors import UsageError
from regard.messages import counted

_QUOTED = re.compile('"[^"]*"')
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class _Chosen:
    """Where source, target and perhaps their languages are in a row, and how many columns every
    row has."""

    indices: tuple[int, ...]
    width: int

    def cells(self, cells: list[str], where: str) -> list[str]:
        if len(cells) != self.width:
            raise UsageError(
                f"{where} has {counted(len(cells), 'column')}, but the first row has {self.width}: "
                "give every row the same number of columns."
            )
        return [cells[index] for index in self.indices]


def _choose(columns: Columns, first: list[str], where: str) -> _Chosen:
    """By names that the first row has, or else by numbers from 1."""
    names = [name.strip() for name in first]

    def index(asked: str) -> int:
        if asked in names:
            return names.index(asked)
        if asked.isdecimal() and 1 <= int(asked) <= len(names):
            return int(asked) - 1
        raise UsageError(
            f"{where} has no column '{asked}': its columns are {listed(names)}; choose two of them "
            f"with --columns, by name or by number from 1 to {len(names)}."
        )

    return _Chosen(tuple(map(index, columns.names)), len(names))


class Tsv(Format):
    """Columns with a tab between them; a quotation mark is text like any other.

    The first row is a header if columns are chosen by name, and a pair otherwise.
    """

    def records(self, stream: io.BufferedReader) -> Iterator[Record]:
        chosen: Optional[_Chosen] = None
        for number, line in enumerate(text_lines(self.reading, stream), 1):
            if isinstance(line, Bad) or not line.strip():
                bad = line if isinstance(line, Bad) else Bad.EMPTY
                yield Record(number, bad, bad)
                continue
            cells, where = line.split("\t"), self.reading.at(number)
            if chosen is None:
                chosen = self._chosen(cells, where)
                if self._has_header:
                    continue
            source, target, *languages = chosen.cells(cells, where)
            known = languages_at(where, *languages) if languages else None
            yield Record(number, usable(source), usable(target), known)

    @property
    def _has_header(self) -> bool:
        return self.columns is not None and not all(name.isdecimal() for name in self.columns.names)

    def _chosen(self, first: list[str], where: str) -> _Chosen:
        if self.columns is not None:
            return _choose(self.columns, first, where)
        if len(first) == 2:
            return _Chosen((0, 1), 2)
        raise UsageError(
            f"{where} has {counted(len(first), 'column')}: write source and target with one tab "
            "between them, or choose two columns, such as --columns 1,2."
        )


class Csv(Format):
    """Columns with commas between them, or semicolons or tabs; the first row is a header.

    A field in quotation marks may have commas and line breaks, and quotation marks if doubled.
    """

    def records(self, stream: io.BufferedReader) -> Iterator[Record]:
        rows = self._rows(stream)
        header = next((cells for _, cells in rows if cells), None)
        if header is None:
            return
        chosen = self._chosen(header)
        for line, cells in rows:
            if not cells:
                yield Record(line, Bad.EMPTY, Bad.EMPTY)
                continue
            where = self.reading.at(line)
            source, target, *languages = map(self.joined, chosen.cells(cells, where))
            known = languages_at(where, *languages) if languages else None
            yield Record(line, usable(source), usable(target), known)

    def _chosen(self, header: list[str]) -> _Chosen:
        if self.columns is not None:
            return _choose(self.columns, header, self.reading.at(1))
        if len(header) != 2:
            raise UsageError(
                f"{self.reading.at(1)} has {counted(len(header), 'column')} ({listed(header)}): "
                "choose source and target, such as --columns 1,2."
            )
        self.reading.note(
            f"The first row of {self.reading.path} was read as its header ({listed(header)})."
        )
        return _Chosen((0, 1), 2)

    def _rows(self, stream: io.BufferedReader) -> Iterator[tuple[int, list[str]]]:
        """Each row with the line on which it begins."""
        lines = self._lines(stream)
        first = next(lines, "")
        plain = _QUOTED.sub("", first)
        delimiter = max(_DELIMITERS, key=plain.count)
        reader = csv.reader(_with(first, lines), delimiter=delimiter, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise UsageError(
                    f"{self.reading.at(line)} is not valid CSV ({error}): close every quotation "
                    "mark, and double those inside a quoted field."
                ) from None
            if cells is None:
                return
            yield line, cells

    def _lines(self, stream: io.BufferedReader) -> Iterator[str]:
        for number, line in enumerate(text_lines(self.reading, stream), 1):
            bad = line if isinstance(line, Bad) else usable(line)
            if bad in (Bad.LONG, Bad.NUL):
                what = "is longer than 100,000 characters" if bad is Bad.LONG else "has a NUL"
                raise UsageError(f"{self.reading.at(number)} {what}: correct or remove this line.")
            yield f"{line}\n"


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from rest
