"""What the layers of a stack are told of the positions they read in one call. It is computed when
a layer first asks for it, and then used by all layers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Optional, Union

import torch
from torch import Tensor

from regard.data.batch import EOS, PAD
from regard.nn.attention import additive_mask, causal_mask

Made = dict[Hashable, Tensor]


@dataclass(frozen=True)
class FullSequence:
    """A whole sequence, as an encoder reads it: real (B, S) is false at padding.

    Distances between positions follow from the line, unless `given_distance` (B, 1, S, S)
    replaces them. In a sequence that is `blind`, full attention does not look at its own position,
    unless that is the only one.
    """

    real: Tensor
    given_distance: Optional[Tensor] = None
    blind: bool = False
    made: Made = field(default_factory=dict)

    def once(self, name: Hashable, make: Callable[[], Tensor]) -> Tensor:
        """What several layers of one kind need, made by the first of them."""
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    @cached_property
    def mask(self) -> Tensor:
        """(B, 1, 1, S), or (B, 1, S, S) if blind, added to scores to hide padding."""
        hidden = ~self.real[:, None, None]
        if self.blind:
            own = torch.eye(self.real.shape[1], dtype=torch.bool, device=self.real.device)
            several = self.real.sum(dim=1) > 1
            hidden = hidden | (own & several[:, None, None, None])
        return additive_mask(hidden)

    @cached_property
    def distance(self) -> Tensor:
        """(S, S) or (B, 1, S, S) of full attention: the position of the key minus that of the
        query, or what was given instead."""
        if self.given_distance is not None:
            return self.given_distance
        return distances(self.real.shape[1], self.real.device)


@dataclass(frozen=True)
class NextTokens:
    """The next T ids (B x copies, T) of each hypothesis, after `start` earlier ones.

    What the hypotheses of a sentence have read may be kept side by side in columns, once per
    sentence; `seen` (B x copies, columns) marks which of those so far are a hypothesis's own.
    """

    ids: Tensor
    start: int
    sentences: int
    seen: Tensor
    made: Made = field(default_factory=dict)

    def once(self, name: Hashable, make: Callable[[], Tensor]) -> Tensor:
        """What several layers of one kind need, made by the first of them."""
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    @property
    def length(self) -> int:
        return self.ids.shape[1]

    @property
    def is_full_sequence(self) -> bool:
        """Nothing was read before, and there is one hypothesis per sentence."""
        return self.start == 0 and len(self.ids) == self.sentences

    @property
    def is_single_step(self) -> bool:
        """Every column is seen by the one position that is read: nothing needs to be hidden."""
        return self.length == 1 and len(self.ids) == self.sentences

    @cached_property
    def real(self) -> Tensor:
        """(R, T), false from the end of a line, which is read in training only."""
        return (self.ids != PAD) & (self.ids != EOS)

    @cached_property
    def positions(self) -> Tensor:
        """(T,): where the ids are in their sequence."""
        return torch.arange(self.start, self.start + self.length, device=self.seen.device)

    @cached_property
    def mask(self) -> Tensor:
        """(B, 1, copies x T, columns + copies x T), added to scores: of the columns so far, a
        position sees its hypothesis's own; of those added now, its own up to itself."""
        copies, length = len(self.seen) // self.sentences, self.length
        own = self._identity(copies)[:, None, :, None]  # (copies, 1, copies, 1)
        causal = causal_mask(length, self.seen.device)
        new = (own & causal[None, :, None]).flatten(2)  # (copies, T, copies x T)
        before = self.seen[:, None].expand(-1, length, -1)  # (B x copies, T, columns)
        both = torch.cat([before, new.repeat(self.sentences, 1, 1)], dim=2)
        return additive_mask(~both.reshape(self.sentences, 1, copies * length, -1))

    @cached_property
    def own(self) -> Tensor:
        """The columns of each hypothesis once the T more are read: (R, columns + copies x T)."""
        if len(self.seen) == self.sentences:
            return self.seen.new_ones(self.sentences, self.seen.shape[1] + self.length)
        own = self._identity(len(self.seen) // self.sentences)
        own = own.repeat(self.sentences, 1).repeat_interleave(self.length, dim=1)
        return torch.cat([self.seen, own], dim=1)

    def _identity(self, size: int) -> Tensor:
        return torch.eye(size, dtype=torch.bool, device=self.seen.device)

    @cached_property
    def columns(self) -> Tensor:
        """The column of each position, (R, start + T)."""
        return self.own.nonzero()[:, 1].view(len(self.own), -1)

    @cached_property
    def distance(self) -> Tensor:
        """(B, 1, copies x T, columns + copies x T): the position of the key minus that of the
        query.

        A hypothesis has one column per position, in order; the values at others are hidden.
        """
        keys = self.own.cumsum(dim=1)[:, None] - 1  # (R, 1, columns + copies x T)
        distance = keys - self.positions[:, None]
        return distance.reshape(self.sentences, 1, -1, keys.shape[-1])


Positions = Union[FullSequence, NextTokens]


def distances(length: int, device: torch.device) -> Tensor:
    """(T, T): the position of the key minus that of the query."""
    positions = torch.arange(length, device=device)
    return positions - positions[:, None]
