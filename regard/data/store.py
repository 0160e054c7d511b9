"""The encoded corpus on disk, and the order in which training reads its batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from regard.config import MAX_COUNT, Settings
from regard.data.annotations import ANNOTATIONS, Kinds
from regard.data.batch import Batch
from regard.data.encoding import PairEncoder
from regard.data.line import Line, Pair
from regard.data.order import Order
from regard.data.ragged import Indices, Ragged, same_values
from regard.data.targets import UNSEEN, Where
from regard.data.tokenizers import Tokenizers
from regard.data.windows import boundaries
from regard.data.writer import (
    FORMAT,
    SIDES,
    UNHASHED,
    StoreWriter,
    encoded_pairs,
    ragged_annotations,
    ragged_ids,
)
from regard.errors import RegardError, UsageError
from regard.files import hash_file, read_sealed, sealed, sync_folder, write_json
from regard.messages import counted
from regard.metrics.table import Writes

_META = "meta.json"


class BatchSettings(Settings):
    """How pairs are batched: `tokens` bounds rows times the longest row, padding included.

    Pairs with more than `max_length` pieces on a side are skipped. `window` pairs are held in
    memory and sorted by length at a time.
    """

    tokens: int = Field(
        default=4096,
        gt=0,
        le=1_000_000_000,
        description="Maximum size of a batch: its rows times the longest of them.",
    )
    max_length: int = Field(
        default=256,
        gt=0,
        le=MAX_COUNT,
        description="Pairs with more pieces than this on either side are skipped.",
    )
    window: int = Field(
        default=65536,
        gt=0,
        le=1_000_000_000,
        description="Pairs that are sorted by length at a time.",
    )


class Store:
    """Encoded pairs in a folder, memory mapped, so that a corpus larger than memory trains.

    `annotations` are those of the source pieces, by name.
    """

    def __init__(self, folder: Path, meta: dict[str, Any]) -> None:
        self.skipped: int = meta["skipped"]
        self.max_length: int = meta["max_length"]
        self.has_text: bool = meta["text"]
        self.source, self.target = (_map(folder, f"{s}.ids", meta["types"][s]) for s in SIDES)
        kinds: dict[str, str] = meta["annotations"]
        if self.has_text:
            self._texts = [_map(folder, f"{side}.text", "<u1") for side in SIDES]
            self._read = {
                ANNOTATIONS[name]: _map(folder, f"source.{name}.text", "<u1")
                for name in kinds
                if ANNOTATIONS[name].option is not None
            }
        self.annotations = {
            name: _map(folder, f"source.{name}", kind) for name, kind in kinds.items()
        }
        for name, values in self.annotations.items():
            if not same_values(values.offsets, self.source.offsets):
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
        writes: Writes = "text",
        where: Where = "line {}".format,
        unknown: str = UNSEEN,
    ) -> Store:
        """Encode the pairs into the folder, with these annotations of the source; `progress` is
        called with the number of pairs done.

        The description of the files is removed first and written last, so that whatever opens is
        complete. Sampled segmentation needs the text. For errors, `where` gives file and line of
        the target of pair number n, and `unknown` says why the tokenizer lacks a tag or label.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / _META).unlink(missing_ok=True)
            sync_folder(folder)
            sizes = tokenizers.source.size, tokenizers.target.size
            writer = StoreWriter(folder, sizes, max_length, keep_text, annotations)
            encoder = PairEncoder.of(tokenizers, annotations)
            meta = writer.write(encoded_pairs(pairs, encoder, writes, where, unknown), progress)
            if not meta["pairs"]:
                raise UsageError(
                    f"No pair is left: all have more than {counted(max_length, 'piece')} on a "
                    "side; raise batch.max_length, or model.max_length where that is smaller."
                )
            write_json(folder / _META, sealed(meta))
        except OSError as error:
            raise RegardError(f"Cannot write to {folder}: {error.strerror or error}.") from None
        return Store.open(folder)

    @staticmethod
    def open(folder: Path, verify: bool = False) -> Store:
        """Map the files; a folder that is not complete is refused, and so is one that is damaged
        if its hashes are to be verified."""
        try:
            meta = read_sealed(folder / _META, lambda meta: meta.get("format") == UNHASHED)
            if meta["format"] not in (FORMAT, UNHASHED):
                raise ValueError("another format")
            for name, size in meta["sizes"].items():
                if (folder / name).stat().st_size != size:
                    raise ValueError(f"{name} has another size")
            hashes = meta["hashes"] if verify and meta["format"] == FORMAT else {}
            for name, digest in hashes.items():
                if hash_file(folder / name) != digest:
                    raise ValueError(f"{name} is not what was written")
            return Store(folder, meta)
        except (UsageError, OSError, ValueError, LookupError, TypeError, AttributeError):
            raise UsageError(
                f"{folder} is missing, damaged or incomplete: delete what is left of it, and "
                "repeat the whole command that trained the run, with its files, to make it again."
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
        for kind, texts in self._read.items():
            line = kind.read(line, _line(texts, row), f"row {row + 1} of source.{kind.name}.text")
        return line


@dataclass(frozen=True)
class Offset:
    """The position of the next batch in the order."""

    epoch: int = 0
    window: int = 0
    batch: int = 0


class Share(NamedTuple):
    """What one of several processes computes of a batch: some of its rows, or none."""

    batch: Batch
    tokens: int  # of the whole batch
    borrowed: bool  # the batch has fewer rows than there are processes: this one is another's
    offset: Offset  # of the next one


class Batches:
    """An endless order of batches that depends on store, settings, seed and Offset alone.

    An epoch is an `Order` of all pairs split into windows; a window is sorted by length and split
    into batches, which are shuffled. Resuming at an Offset prepares its window and no other.
    """

    def __init__(
        self,
        store: Store,
        settings: BatchSettings,
        tokenizers: Tokenizers,
        seed: int,
        sampling: float = 0.0,
        annotations: Kinds = (),
    ) -> None:
        """`annotations` are those that the store was written with; sampling makes them again."""
        if sampling and not store.has_text:
            raise UsageError(
                "The corpus was encoded without its text: prepare it with sampling on."
            )
        if sampling:
            tokenizers.source.check_samples()
        self._store = store
        self._settings = settings
        self._encoder = PairEncoder.of(tokenizers, annotations)
        self._seed = seed
        self._sampling = sampling
        self._windows = -(-len(store) // settings.window)

    def from_offset(self, offset: Offset) -> Iterator[tuple[Batch, Offset]]:
        """Each batch from the offset on, and the offset after it."""
        for share in self.shares(offset):
            yield share.batch, share.offset

    def shares(
        self, offset: Offset, rank: int = 0, size: int = 1, borrow: bool = False
    ) -> Iterator[Share]:
        """The same for one of several processes: every n-th row of each batch. The other rows are
        not read; only their lengths are. For a process without a row, the batch is empty, unless
        it is to `borrow` one.
        """
        if not 0 <= offset.window < self._windows:
            raise UsageError(
                f"{offset} is not in this corpus: data or batch settings have changed."
            )
        for epoch in count(offset.epoch):
            order = self._order(epoch)
            for window in range(offset.window, self._windows):
                prepared = self._prepare(order, epoch, window, rank, size, borrow)
                if not 0 <= offset.batch < len(prepared.batches):
                    raise UsageError(
                        f"{offset} is not in this corpus: data or settings have changed."
                    )
                for number in range(offset.batch, len(prepared.batches)):
                    offset = self._after(epoch, window, number, len(prepared.batches))
                    batch, tokens = prepared.batch(number), prepared.tokens[number]
                    yield Share(batch, tokens, prepared.borrowed[number], offset)

    def epoch_batches(self, epoch: int = 0) -> int:
        """How many batches an epoch has; exact unless segmentation is sampled."""
        order = self._order(epoch)
        return sum(self._window_batches(order, window) for window in range(self._windows))

    def _window_batches(self, order: Order, window: int) -> int:
        rows = self._rows(order, window)
        source, target = self._store.source.lengths(rows), self._store.target.lengths(rows)
        ranked = np.lexsort((source, target))
        return len(_boundaries(source[ranked], target[ranked], self._settings.tokens))

    def _order(self, epoch: int) -> Order:
        return Order(len(self._store), [self._seed, epoch])

    def _rows(self, order: Order, window: int) -> Indices:
        size = self._settings.window
        return order.rows(window * size, (window + 1) * size)

    def _after(self, epoch: int, window: int, batch: int, batches: int) -> Offset:
        if batch + 1 < batches:
            return Offset(epoch, window, batch + 1)
        if window + 1 < self._windows:
            return Offset(epoch, window + 1)
        return Offset(epoch + 1)

    def _prepare(
        self,
        order: Order,
        epoch: int,
        window: int,
        rank: int,
        size: int,
        borrow: bool,
    ) -> _Window:
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
        batches = [ranked[start:stop] for start, stop in shuffled]
        tokens = [int(target.lengths(rows).sum()) + len(rows) for rows in batches]
        borrowed = [borrow and len(rows) <= rank for rows in batches]
        own = [
            rows[:1] if without else rows[rank::size]
            for rows, without in zip(batches, borrowed, strict=True)
        ]
        stops = np.cumsum([len(rows) for rows in own])
        starts = stops - [len(rows) for rows in own]
        read = np.concatenate(own)
        gathered = {name: values.gather(read) for name, values in annotations.items()}
        between = list(zip(starts.tolist(), stops.tolist(), strict=True))
        return _Window(
            source.gather(read), target.gather(read), gathered, between, tokens, borrowed
        )

    def _sampled(
        self, rows: Indices, epoch: int, window: int
    ) -> tuple[Ragged, Ragged, dict[str, Ragged]]:
        """Other segmentations of source and target, and the annotations of the source's pieces."""
        limit = min(self._settings.max_length, self._store.max_length)
        seeds = self._draw_seed(epoch, window, 1), self._draw_seed(epoch, window, 2)
        encoder = self._encoder.sampled(self._sampling, seeds)
        sources, targets = (
            [row.truncated(limit) for row in side]
            for side in encoder.encode(self._store.pairs(rows))
        )
        return ragged_ids(sources), ragged_ids(targets), ragged_annotations(sources)

    def _draw_seed(self, epoch: int, window: int, side: int) -> int:
        entropy = [self._seed, epoch, window + 1, side]
        return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])


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
    """The pairs of a window that a process reads, start and stop of its batches among them, and of
    each batch the target tokens in all processes and whether its row is another's."""

    source: Ragged
    target: Ragged
    annotations: Mapping[str, Ragged]
    batches: list[tuple[int, int]]
    tokens: list[int]
    borrowed: list[bool]

    def batch(self, number: int) -> Batch:
        start, stop = self.batches[number]
        return Batch(
            self.source.padded(start, stop, self.annotations), self.target.padded(start, stop)
        )


def _boundaries(source: Indices, target: Indices, tokens: int) -> list[tuple[int, int]]:
    """Of the batches: rows times the longest of either side, EOS included, fits."""
    return boundaries((np.maximum(source, target) + 1).tolist(), tokens)


def _line(text: Ragged, row: int) -> str:
    return text.row(row).tobytes().decode("utf-8", "replace")  # a corrupt file must not raise


def _map(folder: Path, name: str, type_: str) -> Ragged:
    path, kind = folder / name, np.dtype(type_)
    offsets = np.memmap(folder / f"{name}.offsets", np.int64, mode="r")
    empty = path.stat().st_size == 0  # such a file cannot be mapped
    values = np.empty(0, kind.base) if empty else np.memmap(path, kind.base, mode="r")
    values = values.reshape(-1, *kind.shape)
    if offsets[0] != 0 or offsets[-1] != len(values):
        raise ValueError(f"{path} does not match its offsets")
    return Ragged(values, offsets)
