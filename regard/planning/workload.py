"""What a training step reads: batches of a sample of the data, or of lengths that are assumed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from regard.data.annotations import Pixels
from regard.data.batch import UNKNOWN, Batch, Padded, Row
from regard.data.line import Line
from regard.data.parallel import Parallel
from regard.data.store import Store
from regard.data.tokenizer import RESERVED, Bytes, Indices, NumberWords
from regard.data.windows import boundaries
from regard.recipes.config import TARGET_KINDS, Config
from regard.runs.folder import TRAIN, Run
from regard.runs.prepare import prepare, read_data
from regard.training.display import Display

Lengths = NDArray[np.int64]

ASSUMED_PAIRS = 10_000
"""How many pairs are imagined where there is no sample."""

MIN_BATCHES = 16
"""Fewer would not have the lengths that batches of a large corpus have."""

LENGTH_SPREAD, RATIO_SPREAD = 0.5, 0.15
"""Standard deviations of the logarithms of assumed lengths, and of their ratio: those of Multi30k
and IWSLT14 in pieces are 0.3 to 0.7, and 0.1 to 0.2."""

ASSUMED_LABELS = 20
"""Different labels or tags, where nothing says how many there are."""


@dataclass(frozen=True)
class Shape:
    """The size of a batch: rows, padded lengths with EOS, and target tokens to be predicted."""

    rows: int
    source: int
    target: int
    tokens: int


class Workload(ABC):
    """Batches sorted by length, as training makes them.

    `sizes` are those of the vocabularies, and `tokens_per_pair` the target tokens, EOS included. If
    a few batches would hold all pairs, they are smaller here: a batch of training is `scale` times
    as large.
    """

    def __init__(
        self, sizes: tuple[int, int], source: Lengths, target: Lengths, tokens: int
    ) -> None:
        """`source` and `target` are lengths without EOS."""
        self.sizes = sizes
        self.pairs = len(source)
        self.ranked = np.lexsort((source, target))
        self._source, self._target = source[self.ranked] + 1, target[self.ranked] + 1
        longest = np.maximum(self._source, self._target)
        enough = min(tokens, max(int(longest.max()), int(longest.sum()) // MIN_BATCHES))
        self.scale = tokens / enough
        self._bounds = boundaries(longest.tolist(), enough)
        self.tokens_per_pair = float(self._target.mean())
        self.pairs_per_batch = self.scale * len(source) / len(self._bounds)

    def shape(self, index: int) -> Shape:
        start, stop = self._bounds[index]
        source, target = self._source[start:stop], self._target[start:stop]
        return Shape(stop - start, int(source.max()), int(target.max()), int(target.sum()))

    def quantile(self, share: float) -> int:
        """The batch in which this share of all target tokens is reached, counted from the shortest;
        those at the end of the list may have few rows, which no others do."""
        reached = np.cumsum([self._target[start:stop].sum() for start, stop in self._bounds])
        index = int(np.searchsorted(reached, share * reached[-1]))
        return min(index, max(0, len(self._bounds) - 2))

    def batch(self, index: int) -> Batch:
        start, stop = self._bounds[index]
        return self._rows(self.ranked[start:stop])

    @abstractmethod
    def _rows(self, indices: Lengths) -> Batch:
        """These pairs side by side."""


class SampledWorkload(Workload):
    """The pairs of encoded data."""

    def __init__(self, store: Store, sizes: tuple[int, int], tokens: int) -> None:
        every = np.arange(len(store))
        self._store = store
        super().__init__(sizes, store.source.lengths(every), store.target.lengths(every), tokens)

    def _rows(self, indices: Lengths) -> Batch:
        store, count = self._store, len(indices)
        annotations = {name: each.gather(indices) for name, each in store.annotations.items()}
        return Batch(
            store.source.gather(indices).padded(0, count, annotations),
            store.target.gather(indices).padded(0, count),
        )


class AssumedWorkload(Workload):
    """Random tokens in lines whose lengths vary around a mean, as those of text do."""

    def __init__(self, config: Config, source_tokens: float, target_tokens: float) -> None:
        self._config = config
        self._random = np.random.default_rng(1)
        spread = self._random.normal(size=ASSUMED_PAIRS)
        source = self._lengths(source_tokens, LENGTH_SPREAD * spread)
        ratio = RATIO_SPREAD * self._random.normal(size=ASSUMED_PAIRS)
        target = self._lengths(target_tokens, LENGTH_SPREAD * spread + ratio)
        for kind in config.annotations:
            if isinstance(kind, Pixels):  # whole columns of patches
                column = kind.height // kind.patch
                source = np.maximum(1, source // column) * column
        if not config.reads_source:
            source = np.zeros_like(source)
        target = {"label": np.ones_like(source), "text": target}.get(config.writes, source)
        super().__init__(assumed_sizes(config), source, target, config.batch.tokens)

    def _lengths(self, mean: float, logarithms: NDArray[np.float64]) -> Lengths:
        scale = (mean - 1) / np.exp(logarithms).mean()  # EOS is one of the tokens
        drawn = np.rint(scale * np.exp(logarithms)).astype(np.int64)
        return drawn.clip(1, self._config.max_pieces)

    def _rows(self, indices: Lengths) -> Batch:
        order = np.argsort(self.ranked)[indices]  # where they are among the sorted
        lengths = zip(self._source[order], self._target[order], strict=True)
        pairs = [self._pair(*each) for each in lengths]
        sources = [source for source, _ in pairs]
        reads = self._config.reads_source
        source = Padded.of_rows(sources) if reads else Padded.of([[] for _ in sources])
        return Batch(source, Padded.of_rows([target for _, target in pairs]))

    def _pair(self, source: int, target: int) -> tuple[Row, Row]:
        """Two lines of these lengths, EOS included, with the simplest annotations that fit."""
        read, written = self._ids(source - 1, 0), self._ids(target - 1, 1)
        if self._config.writes == "indices":
            written = [UNKNOWN + 1 + index for index in range(len(written))]
        annotations = {}
        for kind in self._config.annotations:
            if kind.reads_target:
                last = len(read) - 1
                links = tuple((min(index, last), index) for index in range(len(written)))
                words = [[id] for id in read], [[id] for id in written]
                annotations[kind.name] = kind.of_pair(Line("", links=links), *words)
            else:
                annotations[kind.name] = kind.example(read)
        if self._config.writes == "tags" and "words" in annotations:
            written = written[: int(annotations["words"].max()) + 1]
        return Row(read, annotations), Row(written)

    def _ids(self, count: int, side: int) -> list[int]:
        first, size = UNKNOWN + 1, self.sizes[side]
        drawn: list[int] = self._random.integers(min(first, size - 1), size, count).tolist()
        return drawn


def assumed_sizes(config: Config) -> tuple[int, int]:
    """Of the vocabularies, where the data fills them."""
    settings = config.tokenizer
    unlearned: dict[str, int] = {
        "byte": Bytes().size,
        "number": NumberWords().size,
        "index": Indices().size,
    }
    source = unlearned.get(settings.kind, settings.vocabulary)
    if settings.joint:
        return source, source
    if config.writes in ("tags", "label"):
        return source, RESERVED + ASSUMED_LABELS
    target = str(settings.target or TARGET_KINDS.get(config.writes) or settings.kind)
    return source, unlearned.get(target, settings.vocabulary)


@contextmanager
def sampled(config: Config, data: Parallel) -> Iterator[Workload]:
    """The workload of a sample, prepared in a temporary folder as a run prepares its data."""
    display = Display(quiet=True)
    with TemporaryDirectory(prefix="regard-plan-") as folder:
        checked = read_data(config, data, None, display)
        run = Run.create(Path(folder) / "run", config)
        prepare(run, checked, None, None, display)
        sides = run.tokenizers()
        sizes = sides.source.size, sides.target.size
        yield SampledWorkload(run.store(TRAIN), sizes, config.batch.tokens)
