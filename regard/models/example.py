"""Small random batches on which any family can be tried."""

from __future__ import annotations

import torch

from regard.data.annotations import Kinds
from regard.data.batch import UNKNOWN, Batch, Padded, Row

EXAMPLE_SIZES = 23, 19
"""Ids of the source and of the target; the first ones are shared, as in a joint vocabulary."""


def random_batch(rows: int, seed: int, reads_source: bool, kinds: Kinds) -> Batch:
    """Rows of up to 6 tokens and EOS; without a source, the source has no columns.

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
    read = [Row(row.ids, {kind.name: kind.example(len(row)) for kind in kinds}) for row in source]
    return Batch(Padded.of_rows(read), Padded.of_rows(target))
