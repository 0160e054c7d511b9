"""Corpora in many files: finding their shards, recording which are done, and translating one."""

from __future__ import annotations

import fcntl
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Optional

from regard.data.corpus import load_all, read_lines
from regard.data.formats.parquet import (
    MAGIC,
    batches,
    check_columns,
    opened,
    text_columns,
    texts,
)
from regard.data.globs import Matched
from regard.data.line import Line
from regard.data.reading import check_is_file
from regard.errors import RegardError, UsageError
from regard.files import hash_file, read_sealed, sealed, write_json, writing
from regard.messages import counted
from regard.predict import WINDOW, Predictor

FORMAT = "regard shards 1"
MANIFEST = "manifest.json"
PREDICTION = "prediction"
"""The column that is added to a Parquet shard."""

_ATTEMPTS = ".attempts"
_MAX_ATTEMPTS = 3
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst", ".zstd")


@dataclass(frozen=True)
class Shard:
    """A file of lines or a Parquet file, and the file of its translations."""

    source: Path
    target: Path

    @property
    def is_table(self) -> bool:
        with self.source.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC.encode()


@dataclass(frozen=True)
class Done:
    """The record of a shard: the hashes of both files and the number of lines."""

    source: str
    source_sha256: str = ""
    target_sha256: str = ""
    lines: int = 0
    done: bool = False


@dataclass
class Manifest:
    """Which shards of a folder are done, by the names of their targets, and how they were
    translated."""

    folder: Path
    settings: Mapping[str, Any]
    shards: dict[str, Done] = field(default_factory=dict)

    @staticmethod
    def of(folder: Path, settings: Mapping[str, Any]) -> Manifest:
        """The manifest of an earlier start, or a new one in an empty folder."""
        path = folder / MANIFEST
        if not path.exists():
            if any(each.name != "lock" for each in folder.iterdir()):
                raise UsageError(
                    f"{folder} has files but no {MANIFEST}: give a new folder for the translations."
                )
            return Manifest(folder, settings)
        record = read_sealed(path)
        if record.get("format") != FORMAT:
            raise UsageError(f"{path} was written by another version of regard.")
        other = [name for name in settings if record["settings"].get(name) != settings[name]]
        if other:
            raise UsageError(
                f"{folder} has translations that were made with another {' and '.join(other)}: "
                "give the same to continue, or choose another folder."
            )
        known = {each.pop("target"): Done(**each) for each in record["shards"]}
        return Manifest(folder, settings, known)

    def left(self, shards: Iterable[Shard]) -> list[Shard]:
        """The shards that are not done; those that changed or whose translations did are not."""
        found = []
        for shard in shards:
            known = self.shards.get(shard.target.name, Done(shard.source.name))
            if not (known.done and _are_same(shard, known)):
                self.shards[shard.target.name] = Done(shard.source.name)
                found.append(shard)
        return found

    def save(self) -> None:
        listed = [{"target": name, **asdict(each)} for name, each in sorted(self.shards.items())]
        record = {"format": FORMAT, "settings": dict(self.settings), "shards": listed}
        write_json(self.folder / MANIFEST, sealed(record))


def _are_same(shard: Shard, known: Done) -> bool:
    return (
        shard.target.is_file()
        and hash_file(shard.target) == known.target_sha256
        and hash_file(shard.source) == known.source_sha256
    )


def find_shards(given: Path, folder: Path) -> list[Shard]:
    """The files of a folder or of a pattern, sorted, each with a target of its name in `folder`.

    A target is not compressed, so its name has no suffix of a compression.
    """
    files = _inside(given) if given.is_dir() else list(Matched.of(given).files)
    shards: dict[str, Shard] = {}
    for path in files:
        check_is_file(path)
        name = path.stem if path.suffix.lower() in _COMPRESSED else path.name
        if name in shards:
            raise UsageError(
                f"{shards[name].source} and {path} would both be written to {folder / name}: "
                "rename one of them."
            )
        if path.parent.resolve() == folder.resolve() or name == MANIFEST:
            raise UsageError(f"{path} would be overwritten: give another folder for the output.")
        shards[name] = Shard(path.resolve(), folder.resolve() / name)
    return list(shards.values())


def _inside(folder: Path) -> list[Path]:
    """The files of a folder, but those that programs leave there beside the data."""
    found = sorted(each for each in folder.iterdir() if each.is_file())
    found = [each for each in found if not each.name.startswith((".", "_"))]
    if not found:
        raise UsageError(f"{folder} has no files: give a folder or a pattern of shards.")
    return found


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder of translations, made if it is missing; one command at a time writes to it."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: give a folder for the translations of the shards.")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"Another command is writing to {folder}: wait for it.") from None
        try:
            _clear(folder)
            yield
        finally:
            _clear(folder)


def _clear(folder: Path) -> None:
    """Remove what workers that died left behind; none is at work any more."""
    for path in folder.glob(".*"):
        if path.suffix in (".tmp", _ATTEMPTS):
            path.unlink(missing_ok=True)


@contextmanager
def counted_attempt(shard: Shard) -> Iterator[None]:
    """Refuse a shard whose workers have died several times: more of them would die of it too.

    Each attempt leaves a byte in a file, which is removed if its worker lives to the end of it.
    """
    path = shard.target.with_name(f".{shard.target.name}{_ATTEMPTS}")
    with path.open("ab") as stream:
        stream.write(b".")
    if path.stat().st_size > _MAX_ATTEMPTS:
        path.unlink(missing_ok=True)
        raise RegardError(
            f"{counted(_MAX_ATTEMPTS, 'worker')} died while they translated {shard.source}: give "
            "the workers more memory, or split the shard into smaller ones."
        )
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def translate_shard(predictor: Predictor, shard: Shard, column: Optional[str]) -> Done:
    """Write the translations of all lines, in order; the file appears when it is complete."""
    digest = hash_file(shard.source)
    if shard.is_table:
        lines = _translate_table(predictor, shard, column)
    else:
        lines = _translate_lines(predictor, shard)
    return Done(shard.source.name, digest, hash_file(shard.target), lines, True)


def _translate_lines(predictor: Predictor, shard: Shard) -> int:
    count, lines = 0, read_lines(shard.source, {}, predictor.annotations)
    with writing(shard.target) as stream:
        for prediction in predictor.predict(lines):
            count += 1
            stream.write(f"{_one_line(prediction.text)}\n".encode(errors="replace"))
    return count


def _translate_table(predictor: Predictor, shard: Shard, column: Optional[str]) -> int:
    """All columns are copied, some thousand rows at a time."""
    from pyarrow import array, field, string
    from pyarrow.parquet import ParquetWriter

    path, count, waiting = shard.source, 0, deque[Any]()
    with opened(path) as table, writing(shard.target) as stream:
        name = _column(table, column, path)
        schema = table.schema_arrow.append(field(PREDICTION, string()))

        def lines() -> Iterator[Line]:
            done = 0
            for batch in batches(table, path, WINDOW, None):
                waiting.append(batch)
                found = texts(batch, name, path, done)
                yield from (Line(_one_line(text or "")) for text in found)
                done += len(found)

        with ParquetWriter(stream, schema, compression="zstd") as writer:
            some: list[str] = []
            for prediction in predictor.predict(load_all(lines(), predictor.annotations, path)):
                some.append(prediction.text)
                if len(some) == waiting[0].num_rows:
                    columns = [*waiting.popleft().columns, array(some, string())]
                    writer.write_batch(_batch(columns, schema))
                    count += len(some)
                    some = []
    return count


def _batch(columns: list[Any], schema: Any) -> Any:
    from pyarrow import RecordBatch

    return RecordBatch.from_arrays(columns, schema=schema)


def _column(table: Any, asked: Optional[str], path: Path) -> str:
    """The column of text to be translated."""
    if PREDICTION in table.schema_arrow.names:
        raise UsageError(
            f"{path} has a column '{PREDICTION}', the name that translations are given: rename it."
        )
    if asked is not None:
        check_columns(table, (asked,), path)
        return asked
    names = text_columns(table)
    if len(names) != 1:
        raise UsageError(
            f"{path} has {len(names)} columns of text ({', '.join(names)}): choose the one to "
            "translate with --column."
        )
    return names[0]


def _one_line(text: str) -> str:
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
