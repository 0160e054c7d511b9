"""The order in which an epoch has the rows of a corpus, however many there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.data.ragged import Indices

MAX_PERMUTED = 1 << 24
"""Rows, or blocks of them, that are permuted: 64 MB, and twice that while they are."""


class Order:
    """A random permutation, which depends on the seed alone.

    More rows than can be permuted one by one are permuted in blocks of neighbours, which begin
    elsewhere in each epoch. So the memory is bounded, and what is read of a corpus larger than the
    memory is read in longer parts.
    """

    def __init__(self, rows: int, seed: Sequence[int]) -> None:
        generator = np.random.Generator(np.random.PCG64(seed))
        self._rows = rows
        self._block = max(1, -(-rows // MAX_PERMUTED))
        self._blocks = generator.permutation(np.arange(rows // self._block, dtype=np.uint32))
        self._shift = int(generator.integers(rows)) if self._block > 1 else 0

    def rows(self, start: int, stop: int) -> Indices:
        """The rows at these positions of the epoch."""
        if self._block == 1:
            return self._blocks[start:stop].astype(np.int64)
        positions = np.arange(start, min(stop, self._rows), dtype=np.int64)
        blocks, within = np.divmod(positions, self._block)
        whole = blocks < len(self._blocks)  # what is left over at the end is not a block
        first = self._blocks[np.where(whole, blocks, 0)].astype(np.int64) * self._block
        return (np.where(whole, first + within, positions) + self._shift) % self._rows
