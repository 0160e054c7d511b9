"""Rows of different length stored in one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Union

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.annotations import ANNOTATIONS
from regard.data.batch import EOS, PAD, Padded

Indices = NDArray[np.int64]
_COMPARED = 1 << 20


@dataclass(frozen=True)
class Ragged:
    """Rows of different length one after another; row i is values[offsets[i]:offsets[i + 1]].

    A value is a whole number, or a fixed number of floats: then values has two axes.
    """

    values: NDArray[Any]
    offsets: Indices

    @staticmethod
    def of(rows: Sequence[Sequence[int]]) -> Ragged:
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        offsets = _offsets(lengths)
        return Ragged(np.fromiter(chain.from_iterable(rows), np.int64, int(offsets[-1])), offsets)

    @staticmethod
    def of_arrays(rows: Sequence[NDArray[Any]]) -> Ragged:
        """At least one row, and all of one type."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return Ragged(np.concatenate(rows), _offsets(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> NDArray[Any]:
        return np.asarray(self.values[self.offsets[index] : self.offsets[index + 1]])

    def lengths(self, rows: Indices) -> Indices:
        return np.asarray(self.offsets[rows + 1] - self.offsets[rows])

    def gather(self, rows: Indices) -> Ragged:
        """The rows in the order given, in memory."""
        lengths = self.lengths(rows)
        offsets = _offsets(lengths)
        indices = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(np.asarray(self.values[indices]), offsets)

    def padded(
        self, start: int, stop: int, annotations: Mapping[str, Ragged] | None = None
    ) -> Padded:
        """Consecutive rows as a tensor, with EOS after each, and with their annotations."""
        lengths = np.diff(self.offsets[start : stop + 1])
        values = self._filled(start, stop, PAD)
        values[np.arange(len(lengths)), lengths] = EOS
        beside = {
            name: torch.from_numpy(rows._filled(start, stop, ANNOTATIONS[name].fill))
            for name, rows in (annotations or {}).items()
        }
        return Padded(torch.from_numpy(values), torch.from_numpy(lengths + 1), beside)

    def _filled(self, start: int, stop: int, fill: float) -> NDArray[Any]:
        """Consecutive rows with one column more than the longest of them needs."""
        lengths = np.diff(self.offsets[start : stop + 1])
        width = int(lengths.max(initial=-1)) + 1  # none if there are no rows
        shape = (len(lengths), width, *self.values.shape[1:])
        values = np.full(shape, fill, _in_tensors(self.values.dtype))
        real = np.arange(values.shape[1]) < lengths[:, None]
        values[real] = self.values[self.offsets[start] : self.offsets[stop]]
        return values


def _in_tensors(stored: np.dtype[Any]) -> Union[type[np.int64], type[np.float32]]:
    """Bytes are grey values; whatever counts something is stored in more."""
    return np.float32 if stored.kind == "f" or stored == np.uint8 else np.int64


def _offsets(lengths: Indices) -> Indices:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def same_values(one: Indices, another: Indices) -> bool:
    """Whether two arrays on disk are equal, compared a part at a time."""
    return len(one) == len(another) and all(
        np.array_equal(one[start : start + _COMPARED], another[start : start + _COMPARED])
        for start in range(0, len(one), _COMPARED)
    )
