"""Parquet: a table with typed columns, two of which are source and target."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Optional

from regard.data.formats.base import Columns, Format, Record, languages_at, listed, not_two
from regard.data.languages import Languages
from regard.data.text import Bad, Content, usable
from regard.errors import UsageError
from regard.messages import counted

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = "PAR1\x15"
_ROWS = 256
"""Rows read at a time: few, since a text may be long."""

_BUFFER = 1 << 20


class Parquet(Format):
    """Columns within columns are named by dots: `translation.en` is the field "en" of the column
    "translation".

    Rows are read some at a time and one row group after the other. The bytes of the file are hashed
    apart from this, by whoever opened it.
    """

    def records(self, stream: io.BufferedReader) -> Iterator[Record]:
        path, number = self.reading.path, 0
        with opened(path) as table:
            columns = self.columns or self._two_texts(text_columns(table))
            check_columns(table, columns.names, path)
            for values in self._rows(table, columns):
                number += 1
                self.reading.line = number
                sides = [self._side(value) for value in values]
                known = self._languages(sides[2:], columns, number)
                yield Record(number, sides[0], sides[1], known)

    def _two_texts(self, names: list[str]) -> Columns:
        """Without a choice: the only two columns of text, in their order."""
        path = self.reading.path
        if len(names) != 2:
            raise not_two(path, f"{counted(len(names), 'column')} of text", names)
        self.reading.note(f"Read {names[0]} as the source and {names[1]} as the target of {path}.")
        return Columns(*names)

    def _rows(self, table: Any, columns: Columns) -> Iterator[tuple[Any, ...]]:
        """The values of the chosen columns in each row."""
        path, done = self.reading.path, 0
        for batch in batches(table, path, _ROWS, columns.names):
            values = [texts(batch, name, path, done) for name in columns.names]
            yield from zip(*values, strict=True)
            done += batch.num_rows

    def _side(self, value: Optional[str]) -> Content:
        return Bad.MISSING if value is None else usable(self.joined(value))

    def _languages(
        self, given: list[Content], columns: Columns, number: int
    ) -> Optional[Languages]:
        if not given:
            return None
        where = self.reading.at(number)
        names = (columns.source_language, columns.target_language)
        for name, text in zip(names, given, strict=True):
            if isinstance(text, Bad):
                raise UsageError(f"{where} has no language as its '{name}': give a tag such as en.")
        return languages_at(where, str(given[0]), str(given[1]))


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A Parquet file as pyarrow has it; pages are read when they are needed."""
    with path.open("rb") as raw:
        if raw.read(len(MAGIC)) != MAGIC.encode():
            raise UsageError(
                f"{path} is not a plain Parquet file: decompress it, or give it the suffix of its "
                "format."
            )
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise UsageError(
            f"{path} is a Parquet file: run pip install 'regard[parquet]' to read it, or export it "
            "as TSV, CSV or JSON lines."
        ) from None
    try:
        table = ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
    except (ArrowException, OSError):
        raise UsageError(_damage(path, 0)) from None
    with table:
        yield table


def batches(table: Any, path: Path, rows: int, names: Optional[tuple[str, ...]]) -> Iterator[Any]:
    """Some rows at a time, of these columns or of all."""
    from pyarrow import ArrowException

    done = 0
    columns = None if names is None else list(names)
    stream = table.iter_batches(batch_size=rows, columns=columns, use_threads=False)
    while True:
        try:
            batch = next(stream, None)
        except (ArrowException, OSError):
            raise UsageError(_damage(path, done)) from None
        if batch is None:
            return
        yield batch
        done += batch.num_rows


def text_columns(table: Any) -> list[str]:
    """The names of all columns of text, those within columns too."""
    return [name for name, type_ in _leaves(table.schema_arrow) if _is_text(type_)]


def check_columns(table: Any, names: tuple[str, ...], path: Path) -> None:
    """Refuse columns that are not there or are not text."""
    found = dict(_leaves(table.schema_arrow))
    known = listed(text_columns(table))
    for name in names:
        if name not in found:
            raise UsageError(
                f"{path} has no column '{name}': its columns of text are {known}; choose among "
                "them with --columns."
            )
        if not _is_text(found[name]):
            raise UsageError(
                f"Column '{name}' of {path} is {found[name]}, not text: its columns of text are "
                f"{known}; choose among them with --columns."
            )


def texts(batch: Any, name: str, path: Path, done: int) -> list[Optional[str]]:
    """A column of some rows, of which `done` came before them."""
    import pyarrow.compute

    array, rest = batch, name
    while rest:
        names = array.schema.names if array is batch else [field.name for field in array.type]
        outer = rest if rest in names else rest.partition(".")[0]
        rest = rest[len(outer) + 1 :]
        array = (
            array.column(outer) if array is batch else pyarrow.compute.struct_field(array, outer)
        )
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        bad = next(index for index in range(len(array)) if not _is_utf8(array[index]))
        raise UsageError(
            f"Row {done + bad + 1:,} of {path} is not UTF-8 in '{name}': write the file again with "
            "text in UTF-8."
        ) from None


def _is_utf8(value: Any) -> bool:
    try:
        value.as_py()
    except UnicodeDecodeError:
        return False
    return True


def _leaves(fields: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The name and type of each column that has no columns within it."""
    from pyarrow import types

    for field in fields:
        name = f"{prefix}{field.name}"
        if types.is_struct(field.type):
            yield from _leaves(field.type, f"{name}.")
        else:
            yield name, field.type


def _is_text(type_: Any) -> bool:
    from pyarrow import types

    plain = type_.value_type if types.is_dictionary(type_) else type_
    return bool(types.is_string(plain) or types.is_large_string(plain))


def _damage(path: Path, rows: int) -> str:
    return (
        f"{path} is a damaged or incomplete Parquet file, readable up to row {rows:,}: copy it "
        "again."
    )
