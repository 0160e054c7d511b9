"""What every way of mixing the positions of a sequence has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Optional

from torch import Tensor

from regard.nn.attention import AttentionCore, attend, scale_query
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.position import Position
from regard.nn.probe import Axis
from regard.nn.state import Nested

Looks = tuple[Axis, Axis]


@dataclass(frozen=True)
class Cache:
    """What a mixer keeps of the positions read so far, in the two parts of a State: `shared` by
    the hypotheses of a sentence (B rows), and `past` that follows each of them (B x copies)."""

    shared: Nested = ()
    past: Nested = ()


class Mixer(AttentionCore, ABC):
    """Queries, keys and values (B, H, T, K) of all positions to what each makes of them, of the
    same shape. `position` has already rotated the queries and keys."""

    uses_columns = False
    """Whether its cache has columns of all hypotheses side by side, told apart by `seen`."""

    def __init__(self, position: Position, looks: Looks, scaled: bool) -> None:
        super().__init__(looks, scaled)
        self.position = position

    @abstractmethod
    def forward(self, query: Tensor, key: Tensor, value: Tensor, sequence: FullSequence) -> Tensor:
        """A whole sequence, whose padding is not looked at."""

    @abstractmethod
    def start(self, like: Tensor) -> Cache:
        """The cache before anything is read: as many rows as `like`, of its device and type."""

    @abstractmethod
    def read(
        self, query: Tensor, key: Tensor, value: Tensor, cache: Cache, tokens: NextTokens
    ) -> tuple[Tensor, Cache]:
        """T more positions of each hypothesis (B x copies, H, T, K), which see no later ones."""


class SoftmaxMixer(Mixer):
    """Weights the positions it looks at by softmax(Q K^T / sqrt(K) + bias of distance)."""

    def __init__(
        self, heads: int, head_width: int, position: Position, looks: Looks, scaled: bool
    ) -> None:
        super().__init__(position, looks, scaled)
        self.heads = heads
        self.head_width = head_width

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Optional[Tensor],
        distance: Optional[Tensor],
    ) -> tuple[Tensor, Optional[Tensor]]:
        """The mean (B, H, T, K), and the weights (B, H, T, S) if they had to be made.

        The mask is added to the scores; distance (T, S) or (B, 1, T, S) is the position of a key
        minus that of a query, and None for positions that do not ask for it.
        """
        if distance is not None:
            bias = self.position.bias(scale_query(query, self.scaled), distance)
            mask = bias if mask is None else mask + bias
        explicit = self.position.changes_values or self.needs_weights(query)
        mixed, weights = attend(query, key, value, mask, self.scaled, explicit)
        if distance is not None and weights is not None and self.position.changes_values:
            mixed = mixed + self.position.mean(weights, distance)
        return mixed, weights
