"""Attention: a weighted mean of values, the weights given by how well keys answer a query."""

from __future__ import annotations

import math
from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.nn.linear import linear
from regard.nn.position import Position
from regard.nn.probe import Watched

KeysValues = tuple[Tensor, Tensor]


class Core(Watched):
    """softmax(Q K^T / sqrt(K)) V over heads (Vaswani et al. 2017, arXiv 1706.03762).

    Uses the fused kernel, which never makes the weights; with a probe set it computes them.
    """

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], causal: bool
    ) -> Tensor:
        """query (B, H, T, K), key and value (B, H, S, K), mask true where looking is allowed and
        broadcastable to (B, H, T, S); causal: T = S and no token sees a later one."""
        if self.probe is None:
            return functional.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, is_causal=causal
            )
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])  # (B, H, T, S)
        if causal:
            mask = look_back(query.shape[2], key.shape[2])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(dim=-1)
        self.probe.append(weights.detach())
        return weights @ value


def look_back(queries: int, keys: int) -> Tensor:
    """(T, S): the last `queries` of `keys` places, each seeing itself and what came before."""
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, T, D) to (B, H, T, K)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """(B, H, T, K) to (B, T, D)."""
    return x.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Every place looks at every other, or in a decoder at those before it."""

    def __init__(self, width: int, heads: int, position: Position) -> None:
        super().__init__()
        self.heads = heads
        self.position = position
        self.project = linear(width, 3 * width, parts=3)
        self.core = Core()
        self.output = linear(width, width)

    def _project(self, x: Tensor, start: int) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = self.project(x).chunk(3, dim=-1)
        query = self.position.turn(split_heads(query, self.heads), start)
        key = self.position.turn(split_heads(key, self.heads), start)
        return query, key, split_heads(value, self.heads)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, D) and the mask (B, 1, 1, S) of its real places, as an encoder reads them."""
        query, key, value = self._project(x, 0)
        return self.output(join_heads(self.core(query, key, value, mask, False)))

    def read(self, x: Tensor, past: KeysValues, start: int) -> tuple[Tensor, KeysValues]:
        """x (B, T, D) are the next T places after the `start` places of `past`."""
        query, key, value = self._project(x, start)
        if start == 0:
            mixed = self.core(query, key, value, None, True)
        else:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
            mask = look_back(query.shape[2], key.shape[2]) if query.shape[2] > 1 else None
            mixed = self.core(query, key, value, mask, False)
        return self.output(join_heads(mixed)), (key, value)


class CrossAttention(nn.Module):
    """The target looks at the source; its keys and values are made once a sentence."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = linear(width, width)
        self.project = linear(width, 2 * width, parts=2)
        self.core = Core()
        self.output = linear(width, width)

    def prepare(self, source: Tensor) -> KeysValues:
        """Keys and values (B, H, S, K) of the encoded source (B, S, D)."""
        key, value = self.project(source).chunk(2, dim=-1)
        return split_heads(key, self.heads), split_heads(value, self.heads)

    def forward(self, x: Tensor, source: KeysValues, mask: Tensor) -> Tensor:
        """x (B x copies, T, D); the hypotheses of a sentence are folded into its query axis."""
        rows, length, _ = x.shape
        sentences = source[0].shape[0]
        query = self.query(x).reshape(sentences, -1, x.shape[-1])  # (B, copies x T, D)
        mixed = self.core(split_heads(query, self.heads), *source, mask, False)
        return self.output(join_heads(mixed).reshape(rows, length, -1))
