"""Full attention: every place looks at every other."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from regard.nn.attention import additive_mask, causal_mask, fused
from regard.nn.mixers.base import Cache, SoftmaxMixer
from regard.nn.mixers.context import FullSequence, NextTokens, distances
from regard.nn.state import Growing


class FullAttention(SoftmaxMixer):
    """softmax(Q K^T / sqrt(K)) V over all places, or in a decoder over those read so far; n^2
    time (Vaswani et al. 2017, arXiv 1706.03762).

    Its memory has the keys and values (B, H, columns, K) of all that any hypothesis of a sentence
    has read, and a mask hides what is not a hypothesis's own: so a beam reorders what is hidden
    and never moves a key.
    """

    uses_columns = True

    def forward(self, query: Tensor, key: Tensor, value: Tensor, places: FullSequence) -> Tensor:
        distance = places.distance if self.position.relative else None
        mixed, weights = self.attend(query, key, value, places.mask, distance)
        if weights is not None:
            self.record_weights(weights)
        return mixed

    def start(self, rows: int) -> Cache:
        return no_columns(rows, self.heads, self.head_width)

    def read(
        self, query: Tensor, key: Tensor, value: Tensor, memory: Cache, reading: NextTokens
    ) -> tuple[Tensor, Cache]:
        if reading.whole:
            return self._causal(query, key, value, reading), columns(key, value)
        sentences = reading.sentences
        key, value, memory = more_columns(memory, key, value, sentences)
        mask = None if reading.is_single_step else reading.mask
        distance = reading.distance if self.position.relative else None
        mixed, weights = self.attend(beside(query, sentences), key, value, mask, distance)
        if weights is not None:
            self.record_weights(weights)
        return apart(mixed, len(query)), memory

    def _causal(self, query: Tensor, key: Tensor, value: Tensor, reading: NextTokens) -> Tensor:
        """All places at once: the fused kernel needs no mask for that."""
        relative, length = self.position.relative, reading.length
        if self.probe is None and not relative:
            return fused(query, key, value, None, True, self.scaled)
        mask = reading.once("look back", lambda: additive_mask(~causal_mask(length)))
        distance = reading.once("distance", lambda: distances(length)) if relative else None
        mixed, weights = self.attend(query, key, value, mask, distance)
        if weights is not None:
            self.record_weights(weights)
        return mixed


def no_columns(rows: int, heads: int, head_width: int) -> Cache:
    nothing = torch.zeros(rows, heads, 0, head_width)
    return columns(nothing, nothing)


def columns(key: Tensor, value: Tensor) -> Cache:
    """The memory of keys and values (B, H, columns, K), which will get more columns."""
    return Cache(shared=(Growing.of(key), Growing.of(value)))


def more_columns(
    memory: Cache, key: Tensor, value: Tensor, sentences: int
) -> tuple[Tensor, Tensor, Cache]:
    """All keys and values (B, H, columns, K) and their memory, with T more columns of each
    hypothesis (B x copies, H, T, K) after those that were there."""
    keys, values = cast(tuple[Growing, Growing], memory.shared)
    keys, values = keys.append(beside(key, sentences)), values.append(beside(value, sentences))
    return keys.now, values.now, Cache(shared=(keys, values))


def beside(x: Tensor, sentences: int) -> Tensor:
    """(B x copies, H, T, K) to (B, H, copies x T, K): the hypotheses of a sentence together."""
    if len(x) == sentences:
        return x
    return x.unflatten(0, (sentences, -1)).transpose(1, 2).flatten(2, 3)


def apart(x: Tensor, rows: int) -> Tensor:
    """The way back, to (B x copies, H, T, K)."""
    if len(x) == rows:
        return x
    return x.unflatten(2, (rows // len(x), -1)).transpose(1, 2).flatten(0, 1)
