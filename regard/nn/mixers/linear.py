"""Linear attention: running sums in place of all that was read."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.nn import functional

from regard.nn.attention import causal_mask
from regard.nn.mixers.base import Cache, Mixer
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.position import Position

CHUNK = 64
"""At most so many places have their products made at once; what came before them is a sum."""

LEAST = 1e-6
"""Added to the sum of the weights, since the features can all but vanish."""

Sums = tuple[Tensor, Tensor]


class LinearAttention(Mixer):
    """y_i = f(q_i) S / (f(q_i) z), S = sum_j f(k_j) v_j^T, z = sum_j f(k_j), with the features
    f(x) = elu(x) + 1 in place of the exponential of a product: time n, and in a decoder, where j
    goes up to i, a memory of one size (Katharopoulos et al. 2020, arXiv 2006.16236).

    Its memory has S (R, H, K, K) and z (R, H, K), which follow their hypothesis. The weights it
    gives to a probe are f(q_i) f(k_j) / (f(q_i) z). Of the places of earlier calls only the sums
    are left: their weight stands together in one column at the front.
    """

    def __init__(self, heads: int, head_width: int) -> None:
        super().__init__(Position())
        self.heads = heads
        self.head_width = head_width

    def forward(self, query: Tensor, key: Tensor, value: Tensor, places: FullSequence) -> Tensor:
        query = features(query)
        key = features(key) * places.once("real", lambda: places.real[:, None, :, None].float())
        total = _outer(key, value)  # (B, H, K, K)
        norm = query @ key.sum(dim=2)[..., None] + LEAST  # (B, H, S, 1)
        if self.probe is not None:
            self.record_weights(query @ key.transpose(-1, -2) / norm)
        return query @ total / norm

    def start(self, rows: int) -> Cache:
        size = (rows, self.heads, self.head_width)
        return Cache(past=(torch.zeros(*size, self.head_width), torch.zeros(size)))

    def read(
        self, query: Tensor, key: Tensor, value: Tensor, memory: Cache, reading: NextTokens
    ) -> tuple[Tensor, Cache]:
        before = cast(Sums, memory.past)
        query, key = features(query), features(key)
        if self.probe is not None:
            self.record_weights(_weights(query, key, before[1], reading.start))
        if reading.length == 1:
            total, norm = before[0] + _outer(key, value), before[1] + key[:, :, 0]
            mixed = query @ total / (query @ norm[..., None] + LEAST)
        else:
            mixed, total, norm = _by_chunks(query, key, value, before)
        return mixed, Cache(past=(total, norm))


def features(x: Tensor) -> Tensor:
    return functional.elu(x) + 1


def _outer(key: Tensor, value: Tensor) -> Tensor:
    """The sum of k v^T over places: (..., T, K) and (..., T, K) to (..., K, K)."""
    return key.transpose(-1, -2) @ value


def _by_chunks(
    query: Tensor, key: Tensor, value: Tensor, before: Sums
) -> tuple[Tensor, Tensor, Tensor]:
    """Mix (B, H, T, K) and the sums after it: inside a chunk by products, across chunks by sums."""
    length = query.shape[2]
    size = min(CHUNK, length)
    fill = -length % size
    cut = [functional.pad(x, (0, 0, 0, fill)).unflatten(2, (-1, size)) for x in (query, key, value)]
    query, key, value = cut  # (B, H, chunks, size, K)
    totals = torch.cat([before[0][:, :, None], _outer(key, value)], dim=2).cumsum(dim=2)
    norms = torch.cat([before[1][:, :, None], key.sum(dim=3)], dim=2).cumsum(dim=2)
    near = query @ key.transpose(-1, -2) * causal_mask(size)  # (B, H, chunks, size, size)
    mixed = near @ value + query @ totals[:, :, :-1]
    norm = near.sum(dim=-1, keepdim=True) + query @ norms[:, :, :-1, :, None] + LEAST
    mixed = (mixed / norm).flatten(2, 3)[:, :, :length]
    return mixed, totals[:, :, -1], norms[:, :, -1]


def _weights(query: Tensor, key: Tensor, before: Tensor, start: int) -> Tensor:
    """(B, H, T, T), with a column at the front for all that was read in earlier calls."""
    weights = query @ key.transpose(-1, -2) * causal_mask(query.shape[2])
    if start:
        weights = torch.cat([query @ before[..., None], weights], dim=-1)
    return weights / (weights.sum(dim=-1, keepdim=True) + LEAST)
