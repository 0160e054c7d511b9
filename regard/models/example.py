"""Small random batches on which any family can be tried."""

from __future__ import annotations

import torch

from regard.data.annotations import Kinds, WordIndex
from regard.data.batch import UNKNOWN, Batch, Padded, Row
from regard.metrics.table import Writes

EXAMPLE_SIZES = 23, 19
"""Ids of the source and of the target; the first ones are shared, as in a joint vocabulary."""


def random_batch(
    rows: int, seed: int, reads_source: bool, kinds: Kinds, writes: Writes = "text"
) -> Batch:
    """Rows of up to 6 tokens and EOS; without a source, the source has no columns. Targets are
    what the model writes: as many tags as words, a label, indices.

    No token occurs twice in a row, so what follows it can be learned without positions.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(max_length: int, size: int) -> list[Row]:
        lengths = torch.randint(2, max_length + 1, (rows,), generator=generator).tolist()
        first = UNKNOWN + 1
        draws = [torch.randperm(size - first, generator=generator)[: n - 1] for n in lengths]
        return [Row((first + draw).tolist()) for draw in draws]

    source, target = draw(7, EXAMPLE_SIZES[0]), draw(6, EXAMPLE_SIZES[1])
    if not reads_source:
        return Batch(Padded.of([[] for _ in source]), Padded.of_rows(target))
    read = [Row(row.ids, {kind.name: kind.example(row.ids) for kind in kinds}) for row in source]
    written = [_fitting(writes, *each) for each in zip(read, target, strict=True)]
    return Batch(Padded.of_rows(read), Padded.of_rows(written))


def _fitting(writes: Writes, source: Row, target: Row) -> Row:
    """A target of the length that it must have, made of random tokens."""
    if writes == "text":
        return target
    if writes == "label":
        return Row(target.ids[:1])
    words = source.annotations.get(WordIndex.name)
    count = len(source) if words is None else int(words.max()) + 1
    if writes == "indices":
        return Row([UNKNOWN + 1 + (index * 5 + target.ids[0]) % count for index in range(count)])
    return Row([target.ids[index % len(target)] for index in range(count)])
