"""The input of a model: rows of ids padded to one length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.annotation import Values
from regard.data.annotations import ANNOTATIONS

PAD, BOS, EOS, UNKNOWN = 0, 1, 2, 3
"""The first four ids of every vocabulary."""


@dataclass(frozen=True)
class Row:
    """The ids of a line without EOS, and for each annotation, by name, its values per id."""

    ids: Sequence[int]
    annotations: Mapping[str, Values] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def truncated(self, length: int) -> Row:
        """At most `length` ids: the first, unless an annotation wants later ones kept; each
        decides what becomes of its values."""
        if len(self.ids) <= length:
            return self
        found = [ANNOTATIONS[name].kept(each, length) for name, each in self.annotations.items()]
        kept = max(found, key=lambda each: each.start, default=slice(0, length))
        return Row(
            self.ids[kept],
            {
                name: ANNOTATIONS[name].truncate(values, kept)
                for name, values in self.annotations.items()
            },
        )


@dataclass(frozen=True)
class Padded:
    """Rows of different length in one tensor: values (B, T), lengths (B,); annotations (B, T), or
    (B, T, F) with F numbers per token."""

    values: Tensor
    lengths: Tensor
    annotations: Mapping[str, Tensor] = field(default_factory=dict)

    @staticmethod
    def of(ids: Sequence[Sequence[int]]) -> Padded:
        """Ids exactly as given, padded to the longest row."""
        lengths = torch.tensor([len(row) for row in ids], dtype=torch.long)
        width = int(lengths.max()) if ids else 0
        return Padded(_filled([np.array(row, np.int64) for row in ids], width, PAD), lengths)

    @staticmethod
    def of_rows(rows: Sequence[Row]) -> Padded:
        """Rows of the same annotations, with EOS after each."""
        plain = Padded.of([[*row.ids, EOS] for row in rows])
        width = plain.values.shape[1]
        annotations = {
            name: _filled([row.annotations[name] for row in rows], width, ANNOTATIONS[name].fill)
            for name in (rows[0].annotations if rows else ())
        }
        return Padded(plain.values, plain.lengths, annotations)

    @property
    def mask(self) -> Tensor:
        """(B, T), true where a value is real."""
        return (
            torch.arange(self.values.shape[1], device=self.lengths.device) < self.lengths[:, None]
        )

    def rows(self, start: int, stop: int | None = None, step: int = 1) -> Padded:
        """Some of the rows, without the columns that none of them needs."""
        lengths = self.lengths[start:stop:step]
        width = int(lengths.max()) if len(lengths) else 0
        annotations = {
            name: values[start:stop:step, :width] for name, values in self.annotations.items()
        }
        return Padded(self.values[start:stop:step, :width], lengths, annotations)

    def to(self, device: Union[str, torch.device]) -> Padded:
        annotations = {name: values.to(device) for name, values in self.annotations.items()}
        return Padded(self.values.to(device), self.lengths.to(device), annotations)


@dataclass(frozen=True)
class Batch:
    """Sentence pairs; both sides end with EOS, and the model shifts the target by one."""

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

    def to(self, device: Union[str, torch.device]) -> Batch:
        return Batch(self.source.to(device), self.target.to(device))


def _filled(rows: Sequence[NDArray[Any]], width: int, fill: float) -> Tensor:
    """(B, width, ...) of rows (length, ...)."""
    shape, kind = (rows[0].shape[1:], rows[0].dtype) if rows else ((), np.int64)
    values = np.full((len(rows), width, *shape), fill, kind)
    for row, numbers in zip(values, rows, strict=True):
        row[: len(numbers)] = numbers
    return torch.from_numpy(values)
