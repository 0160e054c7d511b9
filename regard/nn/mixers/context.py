"""What is known of the places that a stack of layers reads in one call: made once, when a layer
first asks, and then used by all layers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Optional

import torch
from torch import Tensor

from regard.data.batch import EOS, PAD
from regard.nn.attention import additive_mask, causal_mask

Made = dict[Hashable, Tensor]


@dataclass(frozen=True)
class FullSequence:
    """A whole sequence, as an encoder reads it: real (B, S) is false at padding.

    How far places are apart follows from the line, unless `apart` (B, 1, S, S) says otherwise.
    """

    real: Tensor
    apart: Optional[Tensor] = None
    made: Made = field(default_factory=dict)

    def once(self, name: Hashable, make: Callable[[], Tensor]) -> Tensor:
        """What several layers of one kind need, made by the first of them."""
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    @cached_property
    def mask(self) -> Tensor:
        """(B, 1, 1, S), added to scores to hide padding."""
        return additive_mask(~self.real)[:, None, None]

    @cached_property
    def distance(self) -> Tensor:
        """(S, S) or (B, 1, S, S) of full attention: the place of the key minus that of the query,
        or what is told instead."""
        return distances(self.real.shape[1]) if self.apart is None else self.apart


@dataclass(frozen=True)
class NextTokens:
    """The next T tokens (B x copies, T) of each hypothesis, after `start` earlier ones.

    What the hypotheses of a sentence have read may stand side by side in columns, once a
    sentence; `seen` (B x copies, columns) says which of those so far are a hypothesis's own.
    """

    tokens: Tensor
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
        return self.tokens.shape[1]

    @property
    def whole(self) -> bool:
        """Nothing was read before, and there is one hypothesis a sentence."""
        return self.start == 0 and len(self.tokens) == self.sentences

    @property
    def is_single_step(self) -> bool:
        """Every column is seen by the one place that is read: nothing need be hidden."""
        return self.length == 1 and len(self.tokens) == self.sentences

    @cached_property
    def real(self) -> Tensor:
        """(R, T), false from the end of a line on, which is read in training alone."""
        return (self.tokens != PAD) & (self.tokens != EOS)

    @cached_property
    def mask(self) -> Tensor:
        """(B, 1, copies x T, columns + copies x T), added to scores: of the columns so far, a
        place sees its hypothesis's own; of those added now, its own up to itself."""
        copies, length = len(self.seen) // self.sentences, self.length
        own = torch.eye(copies, dtype=torch.bool)[:, None, :, None]  # (copies, 1, copies, 1)
        new = (own & causal_mask(length)[None, :, None]).flatten(2)  # (copies, T, copies x T)
        before = self.seen[:, None].expand(-1, length, -1)  # (B x copies, T, columns)
        both = torch.cat([before, new.repeat(self.sentences, 1, 1)], dim=2)
        return additive_mask(~both.reshape(self.sentences, 1, copies * length, -1))

    @cached_property
    def own(self) -> Tensor:
        """The columns of each hypothesis once the T more are read: (R, columns + copies x T)."""
        if len(self.seen) == self.sentences:
            return self.seen.new_ones(self.sentences, self.seen.shape[1] + self.length)
        own = torch.eye(len(self.seen) // self.sentences, dtype=torch.bool)
        own = own.repeat(self.sentences, 1).repeat_interleave(self.length, dim=1)
        return torch.cat([self.seen, own], dim=1)

    @cached_property
    def columns(self) -> Tensor:
        """The column of each place, (R, start + T)."""
        return self.own.nonzero()[:, 1].view(len(self.own), -1)

    @cached_property
    def distance(self) -> Tensor:
        """(B, 1, copies x T, columns + copies x T): the place of the key minus that of the query.

        A hypothesis has one column for each place, in order; what stands at others is hidden.
        """
        place = self.own.cumsum(dim=1)[:, None] - 1  # (R, 1, columns + copies x T)
        query = torch.arange(self.start, self.start + self.length)[:, None]
        return (place - query).reshape(self.sentences, 1, -1, place.shape[-1])


def distances(length: int) -> Tensor:
    """(T, T): the place of the key minus that of the query."""
    places = torch.arange(length)
    return places - places[:, None]
