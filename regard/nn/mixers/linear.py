"""Linear attention: running sums instead of all that was read."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.nn import functional

from regard.nn.attention import causal_mask
from regard.nn.mixers.base import Cache, Looks, Mixer
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.position import Position

CHUNK = 64
"""At most this many positions have their products made at once; earlier ones are a sum."""

EPSILON = 1e-6
"""Added to the sum of the weights, since the features can all but vanish."""

Sums = tuple[Tensor, Tensor]


class LinearAttention(Mixer):
    """y_i = f(q_i) S / (f(q_i) z), S = sum_j f(k_j) v_j^T, z = sum_j f(k_j), with the features
    f(x) = elu(x) + 1 in place of the exponential of a product: time n, and in a decoder, where j
    goes up to i, a cache of constant size (Katharopoulos et al. 2020, arXiv 2006.16236).

    Its cache has S (R, H, K, K) and z (R, H, K), which follow their hypothesis. The weights it
    gives to a probe are f(q_i) f(k_j) / (f(q_i) z). Of the positions of earlier calls only the
    sums are left: their weights are summed in one column at the front.
    """

    def __init__(self, heads: int, head_width: int, looks: Looks) -> None:
        super().__init__(Position(), looks, scaled=False)
        self.heads = heads
        self.head_width = head_width

    def forward(self, query: Tensor, key: Tensor, value: Tensor, sequence: FullSequence) -> Tensor:
        query = features(query)
        real = sequence.once("real", lambda: sequence.real[:, None, :, None].to(key.dtype))
        key = features(key) * real
        total = _outer(key, value)  # (B, H, K, K)
        norm = query @ key.sum(dim=2)[..., None] + EPSILON  # (B, H, S, 1)
        if self.probe is not None:
            self.record_weights(query @ key.transpose(-1, -2) / norm)
        return query @ total / norm

    def start(self, like: Tensor) -> Cache:
        size = (len(like), self.heads, self.head_width)
        return Cache(past=(like.new_zeros(*size, self.head_width), like.new_zeros(size)))

    def read(
        self, query: Tensor, key: Tensor, value: Tensor, cache: Cache, tokens: NextTokens
    ) -> tuple[Tensor, Cache]:
        before = cast(Sums, cache.past)
        query, key = features(query), features(key)
        if self.probe is not None:
            self.record_weights(_weights(query, key, before[1], tokens.start))
        if tokens.length == 1:
            total, norm = before[0] + _outer(key, value), before[1] + key[:, :, 0]
            mixed = query @ total / (query @ norm[..., None] + EPSILON)
        else:
            mixed, total, norm = _by_chunks(query, key, value, before)
        return mixed, Cache(past=(total, norm))


def features(x: Tensor) -> Tensor:
    return functional.elu(x) + 1


def _outer(key: Tensor, value: Tensor) -> Tensor:
    """The sum of k v^T over positions: (..., T, K) and (..., T, K) to (..., K, K)."""
    return key.transpose(-1, -2) @ value


def _by_chunks(
    query: Tensor, key: Tensor, value: Tensor, before: Sums
) -> tuple[Tensor, Tensor, Tensor]:
    """The mean (B, H, T, K) and the sums after it: within a chunk by products, across by sums."""
    length = query.shape[2]
    size = min(CHUNK, length)
    fill = -length % size
    query, key, value = (  # (B, H, chunks, size, K)
        functional.pad(x, (0, 0, 0, fill)).unflatten(2, (-1, size)) for x in (query, key, value)
    )
    totals = torch.cat([before[0][:, :, None], _outer(key, value)], dim=2).cumsum(dim=2)
    norms = torch.cat([before[1][:, :, None], key.sum(dim=3)], dim=2).cumsum(dim=2)
    near = query @ key.transpose(-1, -2)  # (B, H, chunks, size, size)
    near = near * causal_mask(size, near.device)
    mixed = near @ value + query @ totals[:, :, :-1]
    norm = near.sum(dim=-1, keepdim=True) + query @ norms[:, :, :-1, :, None] + EPSILON
    mixed = (mixed / norm).flatten(2, 3)[:, :, :length]
    return mixed, totals[:, :, -1], norms[:, :, -1]


def _weights(query: Tensor, key: Tensor, before: Tensor, start: int) -> Tensor:
    """(B, H, T, T), with a column at the front for all that was read in earlier calls."""
    weights = query @ key.transpose(-1, -2) * causal_mask(query.shape[2], query.device)
    if start:
        weights = torch.cat([query @ before[..., None], weights], dim=-1)
    return weights / (weights.sum(dim=-1, keepdim=True) + EPSILON)
