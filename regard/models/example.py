"""Small random batches on which any family can be tried."""

from __future__ import annotations

import torch

from regard.data.batch import EOS, GOES_ON, ROOT, UNKNOWN, Batch, Padded

EXAMPLE_SIZES = 23, 19
"""Ids of the source and of the target; the first ones are shared, as in a joint vocabulary."""

TREE = (ROOT, 0, 0, GOES_ON, 2, 4, 1)
"""Two branches and a word of two pieces."""


def random_batch(rows: int, seed: int, reads_source: bool, reads_trees: bool) -> Batch:
    """Rows of up to 6 tokens and EOS; without a source, the source has no columns.

    No token occurs twice in a row, so what follows it can be learned without positions.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(max_length: int, size: int) -> list[list[int]]:
        lengths = torch.randint(2, max_length + 1, (rows,), generator=generator).tolist()
        first = UNKNOWN + 1
        draws = [torch.randperm(size - first, generator=generator)[: n - 1] for n in lengths]
        return [[*(first + draw).tolist(), EOS] for draw in draws]

    source, target = draw(7, EXAMPLE_SIZES[0]), draw(6, EXAMPLE_SIZES[1])
    if not reads_source:
        return Batch(Padded.of([[] for _ in source]), Padded.of(target))
    trees = [[*TREE[: len(row) - 1], ROOT] for row in source] if reads_trees else None
    return Batch(Padded.of(source, trees), Padded.of(target))
