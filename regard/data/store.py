"""The encoded corpus on disk, and the order in which training reads its batches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from regard.config import Settings
from regard.data.annotations import ANNOTATIONS, Kinds
from regard.data.batch import Batch, Row
from regard.data.encoding import LineEncoder
from regard.data.line import Line, Pair
from regard.data.ragged import Indices, Ragged
from regard.data.tokenizers import Tokenizers
from regard.data.windows import boundaries
from regard.errors import RegardError, UsageError
from regard.files import sync_folder, write_json

_CHUNK = 4096
_META = "meta.json"
_FORMAT = "regard store 2"
_SIDES = ("source", "target")


class BatchSettings(Settings):
    """How pairs are batched: `tokens` bounds rows times the longest row, padding included.

    Pairs with more than `max_length` pieces on a side are skipped. `window` pairs are held in
    memory and sorted by length at a time.
    """

    tokens: int = Field(
        default=4096, gt=0, description="Rows times the longest row of a batch, padding included."
    )
    max_length: int = Field(
        default=256, gt=0, description="Pairs with more pieces than this on a side are skipped."
    )
    window: int = Field(
        default=65536, gt=0, description="Pairs that are sorted by length at a time."
    )


class Store:
    """Encoded pairs in a folder, memory mapped, so that a corpus larger than memory trains.

    `annotations` are those of the source pieces, by name.
    """

    def __init__(self, folder: Path, meta: dict[str, Any]) -> None:
        self.skipped: int = meta["skipped"]
        self.max_length: int = meta["max_length"]
        self.has_text: bool = meta["text"]
        self.source, self.target = (_map(folder, f"{s}.ids", meta["types"][s]) for s in _SIDES)
        if self.has_text:
            self._texts = [_map(folder, f"{side}.text", "<u1") for side in _SIDES]
        self.annotations = {
            name: _map(folder, f"source.{name}", kind) for name, kind in meta["annotations"].items()
        }
        for name, values in self.annotations.items():
            if not np.array_equal(values.offsets, self.source.offsets):
                raise ValueError(f"source.{name} does not belong to the source")
        if len(self.source) != meta["pairs"] or len(self.target) != meta["pairs"]:
            raise ValueError("the number of pairs is not what was written")

    @staticmethod
    def write(
        folder: Path,
        pairs: Iterable[Pair],
        tokenizers: Tokenizers,
        max_length: int,
        keep_text: bool = False,
        progress: Callable[[int], None] | None = None,
        annotations: Kinds = (),
    ) -> Store:
        """Encode the pairs into the folder, with these annotations of the source; `progress` is
        called with the number of pairs done.

        The description of the files is removed first and written last, so that whatever opens is
        complete. Sampled segmentation needs the text.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / _META).unlink(missing_ok=True)
            sync_folder(folder)
            writer = _Writer(folder, tokenizers, max_length, keep_text, annotations)
            meta = writer.write(pairs, progress)
            if not meta["pairs"]:
                raise UsageError(
                    f"No pair is left: all have more than {max_length} pieces on a side; "
                    "raise batch.max_length, or model.max_length where that is smaller."
                )
            write_json(folder / _META, meta)
        except OSError as error:
            raise RegardError(f"Cannot write to {folder}: {error.strerror or error}.") from None
        return Store.open(folder)

    @staticmethod
    def open(folder: Path) -> Store:
        """Map the files; a folder that is not complete is refused."""
        try:
            meta = json.loads((folder / _META).read_bytes())
            if meta["format"] != _FORMAT:
                raise ValueError("another format")
            for name, size in meta["sizes"].items():
                if (folder / name).stat().st_size != size:
                    raise ValueError(f"{name} has another size")
            return Store(folder, meta)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise UsageError(
                f"{folder} is not a complete encoded corpus: delete it and prepare it again."
            ) from None

    def __len__(self) -> int:
        return len(self.target)

    def pair(self, index: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ids of both sides, without EOS."""
        return self.source.row(index), self.target.row(index)

    def pairs(self, rows: Indices) -> list[Pair]:
        """The lines of both sides, numbered from 1, if the text was kept."""
        if not self.has_text:
            raise UsageError("The corpus was encoded without its text, which sampling needs.")
        source, target = self._texts
        return [
            Pair(row + 1, self._annotated(_line(source, row), row), Line(_line(target, row)))
            for row in rows.tolist()
        ]

    def _annotated(self, text: str, row: int) -> Line:
        line = Line(text)
        for name, values in self.annotations.items():
            kind = ANNOTATIONS[name]
            line = kind.add(line, kind.of_words(values.row(row).tolist()))
        return line


@dataclass(frozen=True)
class Offset:
    """The position of the next batch in the order."""

    epoch: int = 0
    window: int = 0
    batch: int = 0


class Batches:
    """An endless order of batches that depends on store, settings, seed and Offset alone.

    An epoch is a permutation split into windows; a window is sorted by length and split into
    batches, which are shuffled. Resuming at an Offset prepares its window and no other.
    """

    def __init__(
        self,
        store: Store,
        settings: BatchSettings,
        tokenizers: Tokenizers,
        seed: int,
        sampling: float = 0.0,
    ) -> None:
        if sampling and not store.has_text:
            raise UsageError(
                "The corpus was encoded without its text: prepare it with sampling on."
            )
        self._store = store
        self._settings = settings
        kinds = tuple(ANNOTATIONS[name] for name in store.annotations)
        self._encoders = LineEncoder(tokenizers.source, kinds), LineEncoder(tokenizers.target)
        self._seed = seed
        self._sampling = sampling
        self._windows = -(-len(store) // settings.window)

    def from_offset(self, offset: Offset) -> Iterator[tuple[Batch, Offset]]:
        """Each batch from the offset on, and the offset after it."""
        if not 0 <= offset.window < self._windows:
            raise UsageError(
                f"{offset} is not in this corpus: data or batch settings have changed."
            )
        for epoch in count(offset.epoch):
            order = self._order(epoch)
            for window in range(offset.window, self._windows):
                prepared = self._prepare(order, epoch, window)
                if not 0 <= offset.batch < len(prepared.batches):
                    raise UsageError(
                        f"{offset} is not in this corpus: data or settings have changed."
                    )
                for number in range(offset.batch, len(prepared.batches)):
                    offset = self._after(epoch, window, number, len(prepared.batches))
                    yield prepared.batch(number), offset

    def epoch_batches(self, epoch: int = 0) -> int:
        """How many batches an epoch has; exact unless segmentation is sampled."""
        order = self._order(epoch)
        return sum(self._window_batches(order, window) for window in range(self._windows))

    def _window_batches(self, order: NDArray[np.uint32], window: int) -> int:
        rows = self._rows(order, window)
        source, target = self._store.source.lengths(rows), self._store.target.lengths(rows)
        ranked = np.lexsort((source, target))
        return len(_boundaries(source[ranked], target[ranked], self._settings.tokens))

    def _order(self, epoch: int) -> NDArray[np.uint32]:
        generator = np.random.Generator(np.random.PCG64([self._seed, epoch]))
        return generator.permutation(np.arange(len(self._store), dtype=np.uint32))

    def _rows(self, order: NDArray[np.uint32], window: int) -> Indices:
        size = self._settings.window
        return order[window * size : (window + 1) * size].astype(np.int64)

    def _after(self, epoch: int, window: int, batch: int, batches: int) -> Offset:
        if batch + 1 < batches:
            return Offset(epoch, window, batch + 1)
        if window + 1 < self._windows:
            return Offset(epoch, window + 1)
        return Offset(epoch + 1)

    def _prepare(self, order: NDArray[np.uint32], epoch: int, window: int) -> _Window:
        rows = self._rows(order, window)
        source, target, annotations = (
            self._store.source,
            self._store.target,
            self._store.annotations,
        )
        if self._sampling:
            source, target, annotations = self._sampled(rows, epoch, window)
            rows = np.arange(len(rows))
        generator = np.random.Generator(np.random.PCG64([self._seed, epoch, window + 1]))
        ties = generator.random(len(rows))
        ranked = rows[np.lexsort((ties, source.lengths(rows), target.lengths(rows)))]
        bounds = _boundaries(source.lengths(ranked), target.lengths(ranked), self._settings.tokens)
        shuffled = [bounds[index] for index in generator.permutation(len(bounds))]
        gathered = {name: values.gather(ranked) for name, values in annotations.items()}
        return _Window(source.gather(ranked), target.gather(ranked), gathered, shuffled)

    def _sampled(
        self, rows: Indices, epoch: int, window: int
    ) -> tuple[Ragged, Ragged, dict[str, Ragged]]:
        """Other segmentations of source and target, and the annotations of the source's pieces."""
        pairs = self._store.pairs(rows)
        limit = min(self._settings.max_length, self._store.max_length)
        sources, targets = (
            [row.truncated(limit) for row in self._sampler(side, epoch, window).encode(lines)]
            for side, lines in enumerate(zip(*(pair.lines for pair in pairs), strict=True))
        )
        return _ragged(sources), _ragged(targets), _ragged_annotations(sources)

    def _sampler(self, side: int, epoch: int, window: int) -> LineEncoder:
        entropy = [self._seed, epoch, window + 1, side + 1]
        seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
        return self._encoders[side].sampled(self._sampling, seed)


def by_length(store: Store, tokens: int) -> Iterator[Batch]:
    """Every pair once, shortest first: for validation."""
    rows = np.arange(len(store))
    source, target = store.source.lengths(rows), store.target.lengths(rows)
    ranked = np.lexsort((source, target))
    for start, stop in _boundaries(source[ranked], target[ranked], tokens):
        some = ranked[start:stop]
        annotations = {name: values.gather(some) for name, values in store.annotations.items()}
        yield Batch(
            store.source.gather(some).padded(0, stop - start, annotations),
            store.target.gather(some).padded(0, stop - start),
        )


@dataclass(frozen=True)
class _Window:
    """The pairs of a window sorted by length, and start and stop of its batches."""

    source: Ragged
    target: Ragged
    annotations: Mapping[str, Ragged]
    batches: list[tuple[int, int]]

    def batch(self, number: int) -> Batch:
        start, stop = self.batches[number]
        return Batch(
            self.source.padded(start, stop, self.annotations), self.target.padded(start, stop)
        )


def _boundaries(source: Indices, target: Indices, tokens: int) -> list[tuple[int, int]]:
    """Of the batches: rows times the longest of either side, EOS included, fits."""
    return boundaries((np.maximum(source, target) + 1).tolist(), tokens)


def _ragged(rows: Sequence[Row]) -> Ragged:
    return Ragged.of([row.ids for row in rows])


def _ragged_annotations(rows: Sequence[Row]) -> dict[str, Ragged]:
    names = rows[0].annotations if rows else ()
    return {name: Ragged.of([row.annotations[name] for row in rows]) for name in names}


class _Writer:
    """Appends encoded pairs to the files of a store; they get their names once complete."""

    def __init__(
        self,
        folder: Path,
        tokenizers: Tokenizers,
        max_length: int,
        keep_text: bool,
        kinds: Kinds,
    ) -> None:
        self._folder = folder
        self._encoders = LineEncoder(tokenizers.source, kinds), LineEncoder(tokenizers.target)
        self._max_length = max_length
        self._keep_text = keep_text
        sizes = (tokenizers.source.size, tokenizers.target.size)
        self._types = dict(zip(_SIDES, map(_smallest, sizes), strict=True))
        kind_type = "<i2" if max_length <= 1 << 15 else "<i4"
        self._annotations = {kind.name: kind_type for kind in kinds}
        contents = [
            *(f"{side}.ids" for side in _SIDES),
            *(f"{side}.text" for side in _SIDES if keep_text),
            *(f"source.{name}" for name in self._annotations),
        ]
        self._names = [f"{content}{part}" for content in contents for part in ("", ".offsets")]
        self._lengths = dict.fromkeys(self._names, 0)

    def write(
        self, pairs: Iterable[Pair], progress: Callable[[int], None] | None
    ) -> dict[str, Any]:
        """Encode, and return the description of what was written."""
        parts = {name: self._folder / f"{name}.part" for name in self._names}
        try:
            done, kept = self._encode(iter(pairs), parts, progress)
            for name, part in parts.items():
                part.replace(self._folder / name)
        finally:
            for part in parts.values():
                part.unlink(missing_ok=True)
        return {
            "format": _FORMAT,
            "pairs": kept,
            "skipped": done - kept,
            "max_length": self._max_length,
            "text": self._keep_text,
            "types": self._types,
            "annotations": self._annotations,
            "sizes": {name: (self._folder / name).stat().st_size for name in self._names},
        }

    def _encode(
        self,
        pairs: Iterator[Pair],
        parts: dict[str, Path],
        progress: Callable[[int], None] | None,
    ) -> tuple[int, int]:
        done = kept = 0
        with ExitStack() as stack:
            files = {name: stack.enter_context(part.open("wb")) for name, part in parts.items()}
            for name in self._names:
                if name.endswith(".offsets"):
                    files[name].write(np.zeros(1, np.int64).tobytes())
            while chunk := list(islice(pairs, _CHUNK)):
                kept += self._chunk(chunk, files)
                done += len(chunk)
                if progress is not None:
                    progress(done)
            for file in files.values():
                file.flush()
                os.fsync(file.fileno())
        return done, kept

    def _chunk(self, chunk: list[Pair], files: Mapping[str, BinaryIO]) -> int:
        lines = [[pair.source for pair in chunk], [pair.target for pair in chunk]]
        encoded = [coder.encode(side) for coder, side in zip(self._encoders, lines, strict=True)]
        fits = [
            index
            for index, (source, target) in enumerate(zip(*encoded, strict=True))
            if max(len(source), len(target)) <= self._max_length
        ]
        kept = [[rows[index] for index in fits] for rows in encoded]
        for side, rows, texts in zip(_SIDES, kept, lines, strict=True):
            self._append(files, f"{side}.ids", _ragged(rows), self._types[side])
            if self._keep_text:
                raw = Ragged.of([texts[index].text.encode("utf-8") for index in fits])
                self._append(files, f"{side}.text", raw, "<u1")
        for name, values in _ragged_annotations(kept[0]).items():
            self._append(files, f"source.{name}", values, self._annotations[name])
        return len(fits)

    def _append(self, files: Mapping[str, BinaryIO], name: str, rows: Ragged, kind: str) -> None:
        files[name].write(rows.values.astype(kind).tobytes())
        files[f"{name}.offsets"].write((rows.offsets[1:] + self._lengths[name]).tobytes())
        self._lengths[name] += len(rows.values)


def _smallest(size: int) -> str:
    return "<u2" if size <= 1 << 16 else "<u4"


def _line(text: Ragged, row: int) -> str:
    return text.row(row).tobytes().decode("utf-8", "replace")  # a corrupt file must not raise


def _map(folder: Path, name: str, type_: str) -> Ragged:
    path, kind = folder / name, np.dtype(type_)
    offsets = np.memmap(folder / f"{name}.offsets", np.int64, mode="r")
    empty = path.stat().st_size == 0  # such a file cannot be mapped
    values = np.empty(0, kind) if empty else np.memmap(path, kind, mode="r")
    if offsets[0] != 0 or offsets[-1] != len(values):
        raise ValueError(f"{path} does not match its offsets")
    return Ragged(values, offsets)
