"""What a model is given: rows of ids filled up to one length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

PAD, BOS, EOS, UNKNOWN = 0, 1, 2, 3
"""The first four ids of every vocabulary."""


@dataclass(frozen=True)
class Padded:
    """Rows of different length in one tensor: values (B, T), lengths (B,)."""

    values: Tensor
    lengths: Tensor

    @staticmethod
    def of(rows: Sequence[Sequence[int]]) -> Padded:
        """Fill the rows up with PAD to the longest of them."""
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        values = torch.full((len(rows), int(lengths.max()) if rows else 0), PAD, dtype=torch.long)
        for row, ids in zip(values, rows, strict=True):
            row[: len(ids)] = torch.as_tensor(ids, dtype=torch.long)
        return Padded(values, lengths)

    @property
    def mask(self) -> Tensor:
        """(B, T), true where a value is real."""
        return torch.arange(self.values.shape[1]) < self.lengths[:, None]

    def twice(self) -> Padded:
        return Padded(self.values.repeat(2, 1), self.lengths.repeat(2))

    def rows(self, start: int, stop: int | None = None, step: int = 1) -> Padded:
        """Some of the rows, without the columns that none of them needs."""
        lengths = self.lengths[start:stop:step]
        width = int(lengths.max()) if len(lengths) else 0
        return Padded(self.values[start:stop:step, :width], lengths)


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

    def twice(self) -> Batch:
        """All rows, and all of them again."""
        return Batch(self.source.twice(), self.target.twice())
