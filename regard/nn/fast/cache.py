"""A key-value cache that grows in place: a step of search copies no earlier key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

import torch
from torch import Tensor

MIN_SPARE_APPENDS = 8
"""Reserve room for at least this many more appends, or for a quarter more columns."""


def plain_append(columns: Tensor, more: Tensor) -> Tensor:
    """columns (B, H, n, K) and more (B, H, m, K) to (B, H, n + m, K)."""
    return torch.cat([columns, more], dim=2)


@dataclass(frozen=True)
class Growing:
    """A tensor (B, H, n, K) that gets more columns along its third axis, without a copy as long as
    there is room for them. It has no gradient, since it is written in place.

    Each stage stays as it was. The first that grows from a stage takes the room after it; any
    other that grows from the same stage is given room of its own.
    """

    room: Tensor  # (B, H, n or more, K)
    length: int
    taken: list[int]  # how much of the room has been written: one number for all who share it

    @staticmethod
    def of(tensor: Tensor) -> Growing:
        return Growing(tensor, tensor.shape[2], [tensor.shape[2]])

    @property
    def now(self) -> Tensor:
        return self.room[:, :, : self.length]

    def append(self, more: Tensor) -> Growing:
        """more (B, H, m, K)."""
        room, taken, length = self.room, self.taken, self.length + more.shape[2]
        if taken[0] > self.length or length > room.shape[2]:
            size = length + max(MIN_SPARE_APPENDS * more.shape[2], length // 4)
            room, taken = room.new_empty(*room.shape[:2], size, room.shape[3]), [0]
            room[:, :, : self.length] = self.now
        room[:, :, self.length : length] = more
        taken[0] = length
        return Growing(room, length, taken)


Columns = Union[Tensor, Growing]
"""Keys or values (B, H, columns, K) read so far."""


def append(columns: Columns, more: Tensor) -> Columns:
    """In place if the columns grow, else a new tensor."""
    if isinstance(columns, Growing):
        return columns.append(more)
    return plain_append(columns, more)


def current(columns: Columns) -> Tensor:
    return columns.now if isinstance(columns, Growing) else columns
