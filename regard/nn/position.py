"""Where a token stands. A kind of position enters at one of three places: it is added to the
input, turns queries and keys, or biases the attention scores."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.problem import Problem

PositionKind = Literal["sinusoidal", "learned", "rotary"]


class Position(nn.Module):
    """The three entrances; each kind overrides one and leaves the others alone."""

    def add(self, x: Tensor, start: int) -> Tensor:
        """x (B, T, D) whose first column stands at `start`."""
        return x

    def turn(self, x: Tensor, start: int) -> Tensor:
        """Queries or keys x (B, H, T, K) whose first column stands at `start`."""
        return x


class Sinusoidal(Position):
    """sin and cos of pos / 10000^(2k / width), sines in the first half of the columns.

    Vaswani et al. 2017, arXiv 1706.03762. The table grows as longer inputs come.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("table", self._table(512), persistent=False)
        self.table: Tensor

    def _table(self, length: int) -> Tensor:
        angles = _angles(length, self.width)
        return torch.cat([angles.sin(), angles.cos()], dim=1)  # (length, D)

    def add(self, x: Tensor, start: int) -> Tensor:
        stop = start + x.shape[1]
        if stop > len(self.table):
            self.table = self._table(2 * stop)
        return x + self.table[start:stop]


class Learned(Position):
    """One vector for each place, learned; it knows nothing past the last (Gehring et al. 2017)."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(length, width) * width**-0.5)

    def add(self, x: Tensor, start: int) -> Tensor:
        stop = start + x.shape[1]
        if stop > len(self.table):
            raise Problem(
                f"A sequence of {stop} pieces is longer than the {len(self.table)} places this "
                "model has learned: shorten the line or train with a larger model.max_length."
            )
        return x + self.table[start:stop]


class Rotary(Position):
    """Turns each pair of columns by an angle that grows with the place, so that the product of
    a query and a key depends on their distance alone (Su et al. 2021, arXiv 2104.09864)."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.head_width = head_width
        self.register_buffer("angles", _angles(512, head_width), persistent=False)
        self.angles: Tensor

    def turn(self, x: Tensor, start: int) -> Tensor:
        stop = start + x.shape[2]
        if stop > len(self.angles):
            self.angles = _angles(2 * stop, self.head_width)
        angles = self.angles[start:stop]
        first, second = x.chunk(2, dim=-1)
        sin, cos = angles.sin(), angles.cos()
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def _angles(length: int, width: int) -> Tensor:
    """(length, width / 2): place times the frequency of each pair of columns."""
    frequencies = 10000 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    places = torch.arange(length, dtype=torch.float64)
    return (places[:, None] * frequencies).float()


def build_position(kind: PositionKind, width: int, heads: int, max_length: int) -> Position:
    match kind:
        case "sinusoidal":
            return Sinusoidal(width)
        case "learned":
            return Learned(width, max_length)
        case "rotary":
            return Rotary(width // heads)
