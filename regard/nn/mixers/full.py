"""Full attention: every position looks at every other."""

from __future__ import annotations

from typing import cast

from torch import Tensor

from regard.nn.attention import additive_mask, attend, causal_mask
from regard.nn.fast.cache import Columns, Growing, append, current
from regard.nn.mixers.base import Cache, SoftmaxMixer
from regard.nn.mixers.context import FullSequence, NextTokens, distances


class FullAttention(SoftmaxMixer):
    """softmax(Q K^T / sqrt(K)) V over all positions, or in a decoder over those read so far; n^2
    time (Vaswani et al. 2017, arXiv 1706.03762).

    Its cache has the keys and values (B, H, columns, K) of all that any hypothesis of a sentence
    has read, and a mask hides those of other hypotheses: so a beam reorders what is hidden and
    never moves a key.
    """

    uses_columns = True

    def forward(self, query: Tensor, key: Tensor, value: Tensor, sequence: FullSequence) -> Tensor:
        distance = sequence.distance if self.position.relative else None
        mixed, weights = self.attend(query, key, value, sequence.mask, distance)
        self.record_weights(weights)
        return mixed

    def start(self, like: Tensor) -> Cache:
        return no_columns(like, self.heads, self.head_width, self.for_search)

    def read(
        self, query: Tensor, key: Tensor, value: Tensor, cache: Cache, tokens: NextTokens
    ) -> tuple[Tensor, Cache]:
        if tokens.is_full_sequence:
            cache = first_columns(key, value, self.for_search)
            return self._causal(query, key, value, tokens), cache
        sentences = tokens.sentences
        key, value, cache = more_columns(cache, key, value, sentences)
        mask = None if tokens.is_single_step else tokens.mask
        distance = tokens.distance if self.position.relative else None
        mixed, weights = self.attend(beside(query, sentences), key, value, mask, distance)
        self.record_weights(weights)
        return apart(mixed, len(query)), cache

    def _causal(self, query: Tensor, key: Tensor, value: Tensor, tokens: NextTokens) -> Tensor:
        """All positions at once: the fused kernel needs no mask for that."""
        relative, length, device = self.position.relative, tokens.length, query.device
        if self.probe is None and not relative:
            return attend(query, key, value, None, self.scaled, causal=True)[0]
        mask = tokens.once("causal", lambda: additive_mask(~causal_mask(length, device)))
        distance = tokens.once("distance", lambda: distances(length, device)) if relative else None
        mixed, weights = self.attend(query, key, value, mask, distance)
        self.record_weights(weights)
        return mixed


def no_columns(like: Tensor, heads: int, head_width: int, growing: bool) -> Cache:
    nothing = like.new_zeros(len(like), heads, 0, head_width)
    return first_columns(nothing, nothing, growing)


def first_columns(key: Tensor, value: Tensor, growing: bool) -> Cache:
    """The cache of keys and values (B, H, columns, K), which will get more columns."""
    return Cache(shared=(Growing.of(key), Growing.of(value)) if growing else (key, value))


def more_columns(
    cache: Cache, key: Tensor, value: Tensor, sentences: int
) -> tuple[Tensor, Tensor, Cache]:
    """All keys and values (B, H, columns, K) and their cache, with T more columns of each
    hypothesis (B x copies, H, T, K) after those that were there."""
    keys, values = cast(tuple[Columns, Columns], cache.shared)
    keys, values = append(keys, beside(key, sentences)), append(values, beside(value, sentences))
    return current(keys), current(values), Cache(shared=(keys, values))


def beside(x: Tensor, sentences: int) -> Tensor:
    """(B x copies, H, T, K) to (B, H, copies x T, K): the hypotheses of a sentence together."""
    if len(x) == sentences:
        return x
    return x.unflatten(0, (sentences, -1)).transpose(1, 2).flatten(2, 3)


def apart(x: Tensor, rows: int) -> Tensor:
    """The inverse, to (B x copies, H, T, K)."""
    if len(x) == rows:
        return x
    return x.unflatten(2, (rows // len(x), -1)).transpose(1, 2).flatten(0, 1)
