"""What every way of mixing the places of a sequence has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Optional

from torch import Tensor

from regard.nn.attention import fused, many, mix, scale, weigh
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.position import Position
from regard.nn.probe import Watched
from regard.nn.state import Nested


@dataclass(frozen=True)
class Cache:
    """What a mixer keeps of the places read so far, in the two parts of a State: `shared` by the
    hypotheses of a sentence (B rows), and `past` that follows each of them (B x copies rows)."""

    shared: Nested = ()
    past: Nested = ()


class Mixer(Watched, ABC):
    """Queries, keys and values (B, H, T, K) of all places to what each makes of them, the same
    shape. The queries and keys have been turned by `position` already."""

    uses_columns = False
    """Whether its memory has columns of all hypotheses side by side, to be told apart by `seen`."""

    scaled = False
    """Whether it divides products of queries and keys by the root of their width."""

    def __init__(self, position: Position) -> None:
        super().__init__()
        self.position = position

    @abstractmethod
    def forward(self, query: Tensor, key: Tensor, value: Tensor, places: FullSequence) -> Tensor:
        """A whole sequence, whose padding is not looked at."""

    @abstractmethod
    def start(self, rows: int) -> Cache:
        """The memory before anything is read."""

    @abstractmethod
    def read(
        self, query: Tensor, key: Tensor, value: Tensor, memory: Cache, reading: NextTokens
    ) -> tuple[Tensor, Cache]:
        """T more places of each hypothesis (B x copies, H, T, K), which see no later ones."""

    def record_weights(self, weights: Tensor) -> None:
        """Give a set probe the weights (B, H, T, S) that were used."""
        if self.probe is not None:
            self.probe.append(weights.detach())


class SoftmaxMixer(Mixer):
    """One that weighs the places it looks at by softmax(Q K^T / sqrt(K) + bias of distance)."""

    def __init__(self, heads: int, head_width: int, position: Position, scaled: bool) -> None:
        super().__init__(position)
        self.heads = heads
        self.head_width = head_width
        self.scaled = scaled

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Optional[Tensor],
        distance: Optional[Tensor],
    ) -> tuple[Tensor, Optional[Tensor]]:
        """The mix (B, H, T, K), and the weights (B, H, T, S) if they had to be made.

        The mask is added to the scores; distance (T, S) or (B, 1, T, S) is the place of a key
        minus that of a query, and None for positions that do not ask for it.
        """
        if distance is not None:
            bias = self.position.bias(scale(query, self.scaled), distance)
            mask = bias if mask is None else mask + bias
        if self.probe is None and many(query) and not self.position.changes_values:
            return fused(query, key, value, mask, False, self.scaled), None
        weights = weigh(scale(query, self.scaled), key, mask)
        mixed = mix(weights, value)
        if distance is not None and self.position.changes_values:
            mixed = mixed + self.position.mean(weights, distance)
        return mixed, weights
