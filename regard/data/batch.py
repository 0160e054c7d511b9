"""What a model is given: rows of ids filled up to one length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import torch
from torch import Tensor

PAD, BOS, EOS, UNKNOWN = 0, 1, 2, 3
"""The first four ids of every vocabulary."""

ROOT, GOES_ON = -1, -2
"""What stands in `Padded.heads` where there is no head: at a root, and inside a word."""


@dataclass(frozen=True)
class Padded:
    """Rows of different length in one tensor: values (B, T), lengths (B,).

    With dependency trees, heads (B, T): for the first piece of a word the first piece of its head,
    or ROOT; GOES_ON for its other pieces. EOS and padding are roots of their own.
    """

    values: Tensor
    lengths: Tensor
    heads: Optional[Tensor] = None

    @staticmethod
    def of(
        rows: Sequence[Sequence[int]], heads: Optional[Sequence[Sequence[int]]] = None
    ) -> Padded:
        """Fill the rows up with PAD to the longest of them, and their heads with ROOT."""
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        width = int(lengths.max()) if rows else 0
        trees = None if heads is None else _filled(heads, width, ROOT)
        return Padded(_filled(rows, width, PAD), lengths, trees)

    @property
    def mask(self) -> Tensor:
        """(B, T), true where a value is real."""
        return torch.arange(self.values.shape[1]) < self.lengths[:, None]

    def rows(self, start: int, stop: int | None = None, step: int = 1) -> Padded:
        """Some of the rows, without the columns that none of them needs."""
        lengths = self.lengths[start:stop:step]
        width = int(lengths.max()) if len(lengths) else 0
        heads = None if self.heads is None else self.heads[start:stop:step, :width]
        return Padded(self.values[start:stop:step, :width], lengths, heads)


@dataclass(frozen=True)
class Batch:
    """Sentence pairs; both sides end with EOS, and the decoder's shift by one is the model's."""

    source: Padded
    target: Padded

    def __len__(self) -> int:
        return len(self.target.lengths)

    @property
    def tokens(self) -> int:
        """Target tokens to be predicted, EOS included."""
        return int(self.target.lengths.sum())

    def rows(self, start: int, stop: int | None = None, step: int = 1) -> Batch:
        return Batch(self.source.rows(start, stop, step), self.target.rows(start, stop, step))


def _filled(rows: Sequence[Sequence[int]], width: int, fill: int) -> Tensor:
    values = torch.full((len(rows), width), fill, dtype=torch.long)
    for row, numbers in zip(values, rows, strict=True):
        row[: len(numbers)] = torch.as_tensor(numbers, dtype=torch.long)
    return values
