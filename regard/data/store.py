"""The encoded corpus on disk, and the order in which training reads its batches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from regard.config import Settings
from regard.data.batch import Batch
from regard.data.corpus import Pair
from regard.data.ragged import Indices, Ragged
from regard.data.tokenizer import Tokenizer
from regard.data.tokenizers import Tokenizers
from regard.data.trees import Encode, cut_heads, encode_trees, word_heads
from regard.errors import RegardError, UsageError
from regard.files import sync_folder, write_json

_CHUNK = 4096
_META = "meta.json"
_FORMAT = "regard store 1"
_SIDES = ("source", "target")


class BatchSettings(Settings):
    """How pairs are gathered: `tokens` bounds rows times the longest row, padding included.

    Pairs with more than `max_length` pieces on a side are left out. `window` pairs are held in
    memory and sorted by length at a time.
    """

    tokens: int = Field(default=4096, gt=0)
    max_length: int = Field(default=256, gt=0)
    window: int = Field(default=65536, gt=0)


class Store:
    """Encoded pairs in a folder, memory mapped, so that a corpus larger than memory trains.

    `heads` are those of the source pieces, in a store that was written with them.
    """

    def __init__(self, folder: Path, meta: dict[str, Any]) -> None:
        self.skipped: int = meta["skipped"]
        self.max_length: int = meta["max_length"]
        self.has_text: bool = meta["text"]
        self.source, self.target = (_map(folder, meta, side, "ids") for side in _SIDES)
        if self.has_text:
            self._texts = [_map(folder, meta, side, "text") for side in _SIDES]
        self.heads = _map(folder, meta, "source", "heads") if "heads" in meta else None
        if self.heads is not None and not np.array_equal(self.heads.offsets, self.source.offsets):
            raise ValueError("the heads are not those of the source")
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
        with_heads: bool = False,
    ) -> Store:
        """Encode the pairs into the folder; `progress` is told how many are done.

        The description of the files is written last and removed first, so that whatever opens is
        whole. Sampled segmentation needs the text.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / _META).unlink(missing_ok=True)
            sync_folder(folder)
            writer = _Writer(folder, tokenizers, max_length, keep_text, with_heads)
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

    def text(self, rows: Indices) -> tuple[list[str], list[str]]:
        """The lines of both sides, if they were kept."""
        if not self.has_text:
            raise UsageError("The corpus was encoded without its text, which sampling needs.")
        source, target = ([_line(text, row) for row in rows.tolist()] for text in self._texts)
        return source, target

    def word_heads(self, row: int) -> list[int]:
        """The heads of the source words of a pair, if they were written."""
        assert self.heads is not None
        return word_heads(self.heads.row(row).tolist())


@dataclass(frozen=True)
class Place:
    """Where in the order the next batch stands."""

    epoch: int = 0
    window: int = 0
    batch: int = 0


class Batches:
    """An endless order of batches that follows from store, settings, seed and Place alone.

    An epoch is a permutation cut into windows; a window is sorted by length, cut into batches,
    and these are shuffled. Going on at a Place prepares the window it stands in and no other.
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
        self._tokenizers = tokenizers
        self._seed = seed
        self._sampling = sampling
        self._windows = -(-len(store) // settings.window)

    def from_place(self, place: Place) -> Iterator[tuple[Batch, Place]]:
        """Each batch from there on, and the place after it."""
        if not 0 <= place.window < self._windows:
            raise UsageError(f"{place} is not in this corpus: data or batch settings have changed.")
        for epoch in count(place.epoch):
            order = self._order(epoch)
            for window in range(place.window, self._windows):
                prepared = self._prepare(order, epoch, window)
                if not 0 <= place.batch < len(prepared.cuts):
                    raise UsageError(
                        f"{place} is not in this corpus: data or settings have changed."
                    )
                for number in range(place.batch, len(prepared.cuts)):
                    place = self._after(epoch, window, number, len(prepared.cuts))
                    yield prepared.batch(number), place

    def epoch_batches(self, epoch: int = 0) -> int:
        """How many batches an epoch has; exact unless segmentation is sampled."""
        order = self._order(epoch)
        return sum(self._window_batches(order, window) for window in range(self._windows))

    def _window_batches(self, order: NDArray[np.uint32], window: int) -> int:
        rows = self._rows(order, window)
        source, target = self._store.source.lengths(rows), self._store.target.lengths(rows)
        ranked = np.lexsort((source, target))
        return len(_cuts(source[ranked], target[ranked], self._settings.tokens))

    def _order(self, epoch: int) -> NDArray[np.uint32]:
        generator = np.random.Generator(np.random.PCG64([self._seed, epoch]))
        return generator.permutation(np.arange(len(self._store), dtype=np.uint32))

    def _rows(self, order: NDArray[np.uint32], window: int) -> Indices:
        size = self._settings.window
        return order[window * size : (window + 1) * size].astype(np.int64)

    def _after(self, epoch: int, window: int, batch: int, batches: int) -> Place:
        if batch + 1 < batches:
            return Place(epoch, window, batch + 1)
        if window + 1 < self._windows:
            return Place(epoch, window + 1)
        return Place(epoch + 1)

    def _prepare(self, order: NDArray[np.uint32], epoch: int, window: int) -> _Window:
        rows = self._rows(order, window)
        source, target, heads = self._store.source, self._store.target, self._store.heads
        if self._sampling:
            source, target, heads = self._sampled(rows, epoch, window)
            rows = np.arange(len(rows))
        generator = np.random.Generator(np.random.PCG64([self._seed, epoch, window + 1]))
        ties = generator.random(len(rows))
        ranked = rows[np.lexsort((ties, source.lengths(rows), target.lengths(rows)))]
        cuts = _cuts(source.lengths(ranked), target.lengths(ranked), self._settings.tokens)
        shuffled = [cuts[index] for index in generator.permutation(len(cuts))]
        trees = None if heads is None else heads.gather(ranked)
        return _Window(source.gather(ranked), target.gather(ranked), trees, shuffled)

    def _sampled(
        self, rows: Indices, epoch: int, window: int
    ) -> tuple[Ragged, Ragged, Ragged | None]:
        """Other cuts of the source, of the target, and the heads of the source's pieces."""
        sources, targets = self._store.text(rows)
        cut_source, cut_target = (
            self._sampler(tokenizer, [self._seed, epoch, window + 1, side])
            for side, tokenizer in enumerate((self._tokenizers.source, self._tokenizers.target), 1)
        )
        limit = min(self._settings.max_length, self._store.max_length)
        target = Ragged.of([row[:limit] for row in cut_target(targets)])
        if self._store.heads is None:
            return Ragged.of([row[:limit] for row in cut_source(sources)]), target, None
        trees = map(self._store.word_heads, rows.tolist())
        source, heads = encode_trees(sources, trees, cut_source)
        cut = Ragged.of([cut_heads(tree, limit) for tree in heads])
        return Ragged.of([row[:limit] for row in source]), target, cut

    def _sampler(self, tokenizer: Tokenizer, entropy: list[int]) -> Encode:
        seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
        return lambda lines: tokenizer.sample(lines, self._sampling, seed)


def in_order(store: Store, tokens: int) -> Iterator[Batch]:
    """Every pair once, shortest first: for validation."""
    rows = np.arange(len(store))
    source, target = store.source.lengths(rows), store.target.lengths(rows)
    ranked = np.lexsort((source, target))
    for start, stop in _cuts(source[ranked], target[ranked], tokens):
        some = ranked[start:stop]
        heads = None if store.heads is None else store.heads.gather(some)
        yield Batch(
            store.source.gather(some).padded(0, stop - start, heads),
            store.target.gather(some).padded(0, stop - start),
        )


@dataclass(frozen=True)
class _Window:
    """The pairs of a window in the order of length, and the batches they are cut into."""

    source: Ragged
    target: Ragged
    heads: Ragged | None
    cuts: list[tuple[int, int]]

    def batch(self, number: int) -> Batch:
        start, stop = self.cuts[number]
        return Batch(self.source.padded(start, stop, self.heads), self.target.padded(start, stop))


def _cuts(source: Indices, target: Indices, tokens: int) -> list[tuple[int, int]]:
    """Neighbouring rows for as long as rows times the longest of either side fits."""
    cuts, start, longest = [], 0, 0
    for row, length in enumerate((np.maximum(source, target) + 1).tolist()):
        longest = max(longest, length)
        if row > start and (row + 1 - start) * longest > tokens:
            cuts.append((start, row))
            start, longest = row, length
    cuts.append((start, len(source)))
    return cuts


class _Writer:
    """Appends encoded pairs to the files of a store, under temporary names until they are whole."""

    def __init__(
        self,
        folder: Path,
        tokenizers: Tokenizers,
        max_length: int,
        keep_text: bool,
        with_heads: bool,
    ) -> None:
        self._folder = folder
        self._tokenizers = (tokenizers.source, tokenizers.target)
        self._max_length = max_length
        self._contents = ("ids", "text") if keep_text else ("ids",)
        self._types = [_smallest(tokenizer.size) for tokenizer in self._tokenizers]
        self._heads_type = "<i2" if max_length <= 1 << 15 else "<i4"
        self._with_heads = with_heads
        contents = [f"{side}.{content}" for side in _SIDES for content in self._contents]
        if with_heads:
            contents.append("source.heads")
        self._names = [f"{content}{part}" for content in contents for part in ("", ".offsets")]
        self._lengths = dict.fromkeys(self._names, 0)

    def write(
        self, pairs: Iterable[Pair], progress: Callable[[int], None] | None
    ) -> dict[str, Any]:
        """Encode, and give back the description of what was written."""
        parts = {name: self._folder / f"{name}.part" for name in self._names}
        try:
            done, kept = self._encode(iter(pairs), parts, progress)
            for name, part in parts.items():
                part.replace(self._folder / name)
        finally:
            for part in parts.values():
                part.unlink(missing_ok=True)
        heads = {"heads": self._heads_type} if self._with_heads else {}
        return {
            "format": _FORMAT,
            **heads,
            "pairs": kept,
            "skipped": done - kept,
            "max_length": self._max_length,
            "text": len(self._contents) == 2,
            "types": dict(zip(_SIDES, self._types, strict=True)),
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
        texts = [[pair.source for pair in chunk], [pair.target for pair in chunk]]
        sources, heads = self._sources(chunk)
        encoded = [sources, self._tokenizers[1].encode(texts[1])]
        fits = [
            index
            for index, (source, target) in enumerate(zip(*encoded, strict=True))
            if max(len(source), len(target)) <= self._max_length
        ]
        for side, kind, rows, lines in zip(_SIDES, self._types, encoded, texts, strict=True):
            self._append(files, f"{side}.ids", Ragged.of([rows[index] for index in fits]), kind)
            if "text" in self._contents:
                raw = Ragged.of([lines[index].encode("utf-8") for index in fits])
                self._append(files, f"{side}.text", raw, "<u1")
        if self._with_heads:
            trees = Ragged.of([heads[index] for index in fits])
            self._append(files, "source.heads", trees, self._heads_type)
        return len(fits)

    def _sources(self, chunk: list[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        """The ids of the sources, and the heads of their pieces if the pairs have any."""
        lines = [pair.source for pair in chunk]
        if not self._with_heads:
            return self._tokenizers[0].encode(lines), []
        trees = [pair.heads or () for pair in chunk]
        return encode_trees(lines, trees, self._tokenizers[0].encode)

    def _append(self, files: Mapping[str, BinaryIO], name: str, rows: Ragged, kind: str) -> None:
        files[name].write(rows.values.astype(kind).tobytes())
        files[f"{name}.offsets"].write((rows.offsets[1:] + self._lengths[name]).tobytes())
        self._lengths[name] += len(rows.values)


def _smallest(size: int) -> str:
    return "<u2" if size <= 1 << 16 else "<u4"


def _line(text: Ragged, row: int) -> str:
    return text.row(row).tobytes().decode("utf-8", "replace")  # a damaged file is no traceback


def _map(folder: Path, meta: dict[str, Any], side: str, content: str) -> Ragged:
    kinds = {"ids": meta["types"][side], "text": "<u1", "heads": meta.get("heads")}
    kind = np.dtype(kinds[content])
    path = folder / f"{side}.{content}"
    offsets = np.memmap(folder / f"{side}.{content}.offsets", np.int64, mode="r")
    empty = path.stat().st_size == 0  # such a file cannot be mapped
    values = np.empty(0, kind) if empty else np.memmap(path, kind, mode="r")
    if offsets[0] != 0 or offsets[-1] != len(values):
        raise ValueError(f"{path} does not fit its offsets")
    return Ragged(values, offsets)
