"""Writes the encoded pairs of a store to its files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from regard.data.annotations import Kinds
from regard.data.batch import Row
from regard.data.encoding import PairEncoder
from regard.data.line import Pair
from regard.data.ragged import Ragged
from regard.data.targets import Where, refuse_unseen
from regard.files import hash_file
from regard.metrics.table import Writes

_CHUNK = 4096
FORMAT, UNHASHED = "regard store 3", "regard store 2"
"""Of the description; one of the older format has no hashes."""

SIDES = ("source", "target")


def ragged_ids(rows: Sequence[Row]) -> Ragged:
    return Ragged.of([row.ids for row in rows])


def ragged_annotations(rows: Sequence[Row]) -> dict[str, Ragged]:
    names = rows[0].annotations if rows else ()
    return {name: Ragged.of_arrays([row.annotations[name] for row in rows]) for name in names}


class EncodedPair(NamedTuple):
    pair: Pair
    source: Row
    target: Row


def encoded_pairs(
    pairs: Iterable[Pair], encoder: PairEncoder, writes: Writes, where: Where, unknown: str
) -> Iterator[list[EncodedPair]]:
    """The pairs with their rows, some thousands at a time."""
    stream = iter(pairs)
    while chunk := list(islice(stream, _CHUNK)):
        sources, targets = encoder.encode(chunk)
        written = [(pair.number, pair.target) for pair in chunk]
        refuse_unseen(writes, targets, written, where, unknown)
        yield list(map(EncodedPair, chunk, sources, targets))


class StoreWriter:
    """Appends encoded pairs to the files of a store; they get their names once complete."""

    def __init__(
        self,
        folder: Path,
        sizes: tuple[int, int],
        max_length: int,
        keep_text: bool,
        kinds: Kinds,
    ) -> None:
        """`sizes` are those of the vocabularies."""
        self._folder = folder
        self._max_length = max_length
        self._keep_text = keep_text
        self._types = dict(zip(SIDES, map(_smallest, sizes), strict=True))
        self._annotations = {kind.name: kind.stored for kind in kinds}
        self._read = [kind for kind in kinds if keep_text and kind.option is not None]
        contents = [
            *(f"{side}.ids" for side in SIDES),
            *(f"{side}.text" for side in SIDES if keep_text),
            *(f"source.{name}" for name in self._annotations),
            *(f"source.{kind.name}.text" for kind in self._read),
        ]
        self._names = [f"{content}{part}" for content in contents for part in ("", ".offsets")]
        self._lengths = dict.fromkeys(self._names, 0)

    def write(
        self,
        chunks: Iterable[list[EncodedPair]],
        progress: Callable[[int], None] | None,
    ) -> dict[str, Any]:
        """Write, and return the description of what was written."""
        parts = {name: self._folder / f"{name}.part" for name in self._names}
        try:
            done, kept = self._write(chunks, parts, progress)
            for name, part in parts.items():
                part.replace(self._folder / name)
        finally:
            for part in parts.values():
                part.unlink(missing_ok=True)
        return {
            "format": FORMAT,
            "pairs": kept,
            "skipped": done - kept,
            "max_length": self._max_length,
            "text": self._keep_text,
            "types": self._types,
            "annotations": self._annotations,
            "sizes": {name: (self._folder / name).stat().st_size for name in self._names},
            "hashes": {name: hash_file(self._folder / name) for name in self._names},
        }

    def _write(
        self,
        chunks: Iterable[list[EncodedPair]],
        parts: dict[str, Path],
        progress: Callable[[int], None] | None,
    ) -> tuple[int, int]:
        done = kept = 0
        with ExitStack() as stack:
            files = {name: stack.enter_context(part.open("wb")) for name, part in parts.items()}
            for name in self._names:
                if name.endswith(".offsets"):
                    files[name].write(np.zeros(1, np.int64).tobytes())
            for chunk in chunks:
                kept += self._chunk(chunk, files)
                done += len(chunk)
                if progress is not None:
                    progress(done)
            for file in files.values():
                file.flush()
                os.fsync(file.fileno())
        return done, kept

    def _chunk(self, chunk: list[EncodedPair], files: Mapping[str, BinaryIO]) -> int:
        fit = [each for each in chunk if max(map(len, each[1:])) <= self._max_length]
        pairs, *both = zip(*fit, strict=True) if fit else ((), (), ())
        for number, (side, rows) in enumerate(zip(SIDES, both, strict=True)):
            self._append(files, f"{side}.ids", ragged_ids(rows), self._types[side])
            if self._keep_text:
                self._append_text(files, side, [pair.texts[number] for pair in pairs])
        for name, values in ragged_annotations(both[0]).items():
            self._append(files, f"source.{name}", values, self._annotations[name])
        for kind in self._read:
            texts = [kind.write(pair.source) for pair in pairs]
            self._append_text(files, f"source.{kind.name}", texts)
        return len(fit)

    def _append_text(self, files: Mapping[str, BinaryIO], name: str, texts: list[str]) -> None:
        raw = Ragged.of([text.encode("utf-8") for text in texts])
        self._append(files, f"{name}.text", raw, "<u1")

    def _append(self, files: Mapping[str, BinaryIO], name: str, rows: Ragged, kind: str) -> None:
        files[name].write(rows.values.astype(np.dtype(kind).base).tobytes())
        files[f"{name}.offsets"].write((rows.offsets[1:] + self._lengths[name]).tobytes())
        self._lengths[name] += len(rows.values)


def _smallest(size: int) -> str:
    return "<u2" if size <= 1 << 16 else "<u4"
