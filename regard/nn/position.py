"""Positions of tokens. A kind of position is added to the input, or it acts in attention: it
rotates queries and keys, biases the scores, or adds to the mean of the values."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError

PositionKind = Literal[
    "sinusoidal", "learned", "rotary", "shaw", "alibi", "syntax", "index", "concatenated", "none"
]


class Position(nn.Module):
    """The ways a position can act; each kind overrides one or two of them."""

    relative = False
    """Whether attention must give distances: the position of each key minus that of each query."""

    changes_values = False
    """Whether `mean` adds something, which needs explicit weights."""

    def add(self, x: Tensor, start: int) -> Tensor:
        """x (B, T, D) whose first column is at position `start`."""
        return x

    def rotate(self, x: Tensor, start: int) -> Tensor:
        """Queries or keys x (B, H, T, K) whose first column is at position `start`."""
        return x

    def bias(self, query: Tensor, distance: Tensor) -> Tensor:
        """What is added to the scores (B, H, T, S) of scaled queries (B, H, T, K); distance
        (T, S) or (B, 1, T, S)."""
        return query.new_zeros(())

    def mean(self, weights: Tensor, distance: Tensor) -> Tensor:
        """What is added to the mean of the values (B, H, T, K), from the weights (B, H, T, S)."""
        return weights.new_zeros(())


class Sinusoidal(Position):
    """sin and cos of pos / 10000^(2k / width), sines in the first half of the columns.

    Vaswani et al. 2017, arXiv 1706.03762. The table grows for longer inputs.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("table", self._table(512), persistent=False)
        self.table: Tensor

    def _table(self, length: int) -> Tensor:
        angles = _angles(length, self.width)
        return torch.cat([angles.sin(), angles.cos()], dim=1).float()  # (length, D)

    def add(self, x: Tensor, start: int) -> Tensor:
        stop = start + x.shape[1]
        self._reach(stop)
        return x + self.table[start:stop]

    def at(self, positions: Tensor) -> Tensor:
        """The vectors (B, T, D) of any positions (B, T)."""
        self._reach(int(positions.max()) + 1)
        return self.table[positions]

    def _reach(self, length: int) -> None:
        if length > len(self.table):
            self.table = self._table(2 * length).to(self.table)


class Learned(Position):
    """One learned vector per position; there are none past the last (Gehring et al. 2017,
    arXiv 1705.03122)."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(length, width) * width**-0.5)

    def add(self, x: Tensor, start: int) -> Tensor:
        stop = start + x.shape[1]
        if stop > len(self.table):
            raise RegardError(
                f"A sequence of {stop} pieces is longer than the {len(self.table)} positions "
                "this model has learned: shorten the line or train with a larger model.max_length."
            )
        return x + self.table[start:stop]


class Index(Position):
    """The plain index: 0, 1, 2, ... times one learned vector. It has no bound; the others have."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.randn(width) * width**-0.5)

    def add(self, x: Tensor, start: int) -> Tensor:
        indices = torch.arange(start, start + x.shape[1], device=x.device, dtype=x.dtype)
        return x + indices[:, None] * self.direction


class Concatenated(Position):
    """Sinusoids beside the words instead of added to them: they take the second half of the
    columns, and only the first half of a word's vector is used."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.sinusoids = Sinusoidal(width // 2)

    def add(self, x: Tensor, start: int) -> Tensor:
        words, unused = x.chunk(2, dim=-1)
        return torch.cat([words, self.sinusoids.add(torch.zeros_like(unused), start)], dim=-1)


class Rotary(Position):
    """Rotates each pair of columns by an angle that grows with the position, so that the product of
    a query and a key depends on their distance alone (Su et al. 2021, arXiv 2104.09864)."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.head_width = head_width
        self.register_buffer("angles", _angles(512, head_width).float(), persistent=False)
        self.angles: Tensor

    def rotate(self, x: Tensor, start: int) -> Tensor:
        stop = start + x.shape[2]
        if stop > len(self.angles):
            self.angles = _angles(2 * stop, self.head_width).to(self.angles)
        angles = self.angles[start:stop]
        first, second = x.chunk(2, dim=-1)
        sin, cos = angles.sin(), angles.cos()
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class Shaw(Position):
    """e_ij = q_i (k_j + a_c) / sqrt(K) and y_i = sum_j w_ij (v_j + b_c), with c = j - i clipped to
    -max_distance .. max_distance, in both directions (Shaw et al. 2018, arXiv 1803.02155).

    A layer has its own a and b, the same for all heads, as in the paper's large model. Products
    with all a are made first and then picked by distance, and weights are added up by distance
    before they meet b, so no vector is made for a pair of positions.
    """

    relative = True
    changes_values = True

    def __init__(self, head_width: int, max_distance: int) -> None:
        super().__init__()
        self.max_distance = max_distance
        size = (2 * max_distance + 1, head_width)
        self.keys = nn.Parameter(torch.randn(size) * head_width**-0.5)
        self.values = nn.Parameter(torch.randn(size) * head_width**-0.5)

    def _clip(self, distance: Tensor) -> Tensor:
        return distance.clamp(-self.max_distance, self.max_distance) + self.max_distance

    def bias(self, query: Tensor, distance: Tensor) -> Tensor:
        products = query @ self.keys.t()  # (B, H, T, 2 max_distance + 1)
        clipped = self._clip(distance).expand(*query.shape[:-1], -1)
        return products.gather(-1, clipped)

    def mean(self, weights: Tensor, distance: Tensor) -> Tensor:
        shares = weights.new_zeros(*weights.shape[:-1], len(self.values))
        shares = shares.scatter_add(-1, self._clip(distance).expand_as(weights), weights)
        return shares @ self.values


class Alibi(Position):
    """Adds -m |i - j| to the scores, with m = 2^(-8 h / H) for the heads h = 1 .. H; nothing is
    learned (Press et al. 2021, arXiv 2108.12409).

    The paper has decoders only; in an encoder both directions count the same.
    """

    relative = True

    def __init__(self, heads: int) -> None:
        super().__init__()
        slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
        self.register_buffer("slopes", slopes[:, None, None], persistent=False)
        self.slopes: Tensor

    def bias(self, query: Tensor, distance: Tensor) -> Tensor:
        return self.slopes * -distance.abs()  # (H, T, S) or (B, H, T, S)


def _angles(length: int, width: int) -> Tensor:
    """(length, width / 2): position times the frequency of each pair of columns. In 64 bits: at
    position 600 the sine of a rounded angle is wrong by 3e-5."""
    frequencies = 10000 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    positions = torch.arange(length, dtype=torch.float64)
    return positions[:, None] * frequencies


def input_position(kind: PositionKind, width: int, max_length: int) -> Position:
    """What the embedding adds, if this kind is one that is added."""
    match kind:
        case "sinusoidal" | "syntax":
            return Sinusoidal(width)
        case "learned":
            return Learned(width, max_length)
        case "index":
            return Index(width)
        case "concatenated":
            return Concatenated(width)
        case _:
            return Position()


def score_position(kind: PositionKind, heads: int, head_width: int, max_distance: int) -> Position:
    """What attention does with positions, if this kind is one that acts there."""
    match kind:
        case "rotary":
            return Rotary(head_width)
        case "shaw" | "syntax":
            return Shaw(head_width, max_distance)
        case "alibi":
            return Alibi(heads)
        case _:
            return Position()
