"""Restricted self-attention: each position looks at its neighbourhood."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.nn import functional

from regard.nn.attention import KeysValues, additive_mask
from regard.nn.mixers.base import Cache, Looks, SoftmaxMixer
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.position import Position

MIN_CHUNK = 16
"""Queries in a chunk at least: products of fewer cost more than they save."""


class WindowAttention(SoftmaxMixer):
    """softmax over a neighbourhood of r positions around the query's, |i - j| <= r / 2: time and
    memory r n (section 4 of Vaswani et al. 2017, arXiv 1706.03762, and Parmar et al. 2018, arXiv
    1802.05751). In a decoder the earlier half of it, i - r / 2 <= j <= i.

    Queries are taken in chunks, each with the keys of its own and the neighbouring positions.
    Padding sees itself, so that it has something to see. Its cache has the last r / 2 keys and
    values, which follow their hypothesis.
    """

    def __init__(
        self,
        heads: int,
        head_width: int,
        position: Position,
        looks: Looks,
        scaled: bool,
        neighbourhood: int,
    ) -> None:
        super().__init__(heads, head_width, position, looks, scaled)
        self.reach = neighbourhood // 2

    def forward(self, query: Tensor, key: Tensor, value: Tensor, sequence: FullSequence) -> Tensor:
        reach = min(self.reach, query.shape[2])  # a short line costs no more than itself
        band = Band(reach, reach, 0, query.shape[2], query.device)
        mask = sequence.once(("window", reach), lambda: band.mask(sequence.real))
        return self._mix(query, key, value, mask, band, 0)

    def start(self, like: Tensor) -> Cache:
        nothing = like.new_zeros(len(like), self.heads, 0, self.head_width)
        return Cache(past=(nothing, nothing))

    def read(
        self, query: Tensor, key: Tensor, value: Tensor, cache: Cache, tokens: NextTokens
    ) -> tuple[Tensor, Cache]:
        before = cast(KeysValues, cache.past)
        key, value = torch.cat([before[0], key], dim=2), torch.cat([before[1], value], dim=2)
        kept = before[0].shape[2]  # as many as there are, r / 2 at most
        if tokens.length == 1:
            mixed = self._step(query, key, value, tokens)
        else:
            reach = min(self.reach, kept + tokens.length)
            band = Band(reach, 0, kept, tokens.length, query.device)
            real = tokens.seen.new_ones(len(key), key.shape[2])
            mask = tokens.once(("window", self.reach), lambda: band.mask(real))
            mixed = self._mix(query, key, value, mask, band, tokens.start - kept)
        first = max(0, key.shape[2] - self.reach)
        return mixed, Cache(past=(key[:, :, first:], value[:, :, first:]))

    def _step(self, query: Tensor, key: Tensor, value: Tensor, tokens: NextTokens) -> Tensor:
        """One position sees all that is in the cache."""
        seen = key.shape[2]
        distance = None
        if self.position.relative:
            distance = torch.arange(1 - seen, 1, device=key.device)[None]
        mixed, weights = self.attend(query, key, value, None, distance)
        if self.probe is not None and weights is not None:
            self.record_weights(functional.pad(weights, (tokens.start + 1 - seen, 0)))
        return mixed

    def _mix(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, band: Band, forgotten: int
    ) -> Tensor:
        """All positions by chunks; `forgotten` positions came before the first key."""
        rows = len(query)
        distance = band.distance if self.position.relative else None
        mixed, weights = self.attend(
            band.chunked(query), band.spans(key), band.spans(value), mask, distance
        )
        if self.probe is not None and weights is not None:
            self.record_weights(functional.pad(band.dense(weights, rows), (forgotten, 0)))
        return band.join(mixed, rows)


class Band:
    """The shapes of T queries in chunks, each with the keys from `before` positions earlier to
    `after` positions later; the first `kept` keys belong to positions before the queries."""

    def __init__(
        self, before: int, after: int, kept: int, length: int, device: torch.device
    ) -> None:
        self.before, self.after, self.kept, self.length = before, after, kept, length
        self.chunk = max(before, MIN_CHUNK)
        self.chunks = -(-length // self.chunk)
        self.fill = self.chunks * self.chunk - length
        self.span = before + self.chunk + after
        keys = torch.arange(self.span, device=device) - before
        self.distance = keys - torch.arange(self.chunk, device=device)[:, None]

    def mask(self, real: Tensor) -> Tensor:
        """(B x chunks, 1, chunk, span), added to scores; real keys (B, kept + T)."""
        exists = functional.pad(real, self._margins())  # (B, before + chunks x chunk + after)
        exists = exists.unfold(1, self.span, self.chunk)[:, :, None]  # (B, chunks, 1, span)
        near = (self.distance >= -self.before) & (self.distance <= self.after)
        seen = near & (exists | (self.distance == 0))  # (B, chunks, chunk, span)
        return additive_mask(~seen).flatten(0, 1)[:, None]

    def _margins(self) -> tuple[int, int]:
        return self.before - self.kept, self.fill + self.after

    def chunked(self, x: Tensor) -> Tensor:
        """Queries (B, H, T, K) to (B x chunks, H, chunk, K)."""
        x = functional.pad(x, (0, 0, 0, self.fill)).unflatten(2, (self.chunks, self.chunk))
        return x.transpose(1, 2).flatten(0, 1)

    def spans(self, x: Tensor) -> Tensor:
        """Keys or values (B, H, kept + T, K) to (B x chunks, H, span, K)."""
        x = functional.pad(x, (0, 0, *self._margins())).unfold(2, self.span, self.chunk)
        return x.permute(0, 2, 1, 4, 3).flatten(0, 1)  # from (B, H, chunks, K, span)

    def join(self, x: Tensor, rows: int) -> Tensor:
        """(B x chunks, H, chunk, K) back to (B, H, T, K)."""
        return x.unflatten(0, (rows, -1)).transpose(1, 2).flatten(2, 3)[:, :, : self.length]

    def dense(self, weights: Tensor, rows: int) -> Tensor:
        """Weights (B x chunks, H, chunk, span) as (B, H, T, kept + T), for a probe."""
        heads = weights.shape[1]
        wide = self.before + self.chunks * self.chunk + self.after
        dense = weights.new_zeros(rows, heads, self.chunks * self.chunk, wide)
        for number, part in enumerate(weights.unflatten(0, (rows, -1)).unbind(1)):
            start = number * self.chunk
            dense[:, :, start : start + self.chunk, start : start + self.span] = part
        first = self.before - self.kept
        return dense[:, :, : self.length, first : first + self.kept + self.length]
