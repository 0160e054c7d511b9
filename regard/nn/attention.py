"""Attention: a weighted mean of values, the weights given by how well keys answer a query."""

from __future__ import annotations

import math
from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.nn.linear import linear
from regard.nn.probe import Watched

KeysValues = tuple[Tensor, Tensor]


class Core(Watched):
    """softmax(Q K^T / sqrt(K)) V over heads (Vaswani et al. 2017, arXiv 1706.03762).

    Uses the fused kernel, which never makes the weights; with a probe set it computes them, and
    in search too, since for a few queries a sentence that is faster.
    """

    def __init__(self, scaled: bool = True) -> None:
        super().__init__()
        self.scaled = scaled

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]) -> Tensor:
        """query (B, H, T, K), key and value (B, H, S, K), the mask is added to the scores and
        broadcastable to (B, H, T, S)."""
        if self.probe is None and many(query):
            return fused(query, key, value, mask, False, self.scaled)
        weights = weigh(scale(query, self.scaled), key, mask)
        if self.probe is not None:
            self.probe.append(weights.detach())
        return mix(weights, value)


FEW = 16
"""Queries of a sentence up to which plain products beat the fused kernel."""


def many(query: Tensor) -> bool:
    """Whether the fused kernel is the faster way for queries (B, H, T, K)."""
    return torch.is_grad_enabled() or query.shape[2] > FEW


def fused(
    query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], causal: bool, scaled: bool
) -> Tensor:
    return functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=causal, scale=None if scaled else 1.0
    )


def scale(query: Tensor, scaled: bool) -> Tensor:
    """Products of long vectors are large, and a softmax of large numbers learns slowly."""
    return query / math.sqrt(query.shape[-1]) if scaled else query


def scale_ahead(project: nn.Linear, width: int, heads: int) -> None:
    """Scale the queries in the map that makes them, its first `width` outputs."""
    with torch.no_grad():
        for weights in (project.weight, project.bias):
            weights[:width] /= math.sqrt(width // heads)


def weigh(query: Tensor, key: Tensor, mask: Optional[Tensor]) -> Tensor:
    """The weights (B, H, T, S) of scaled queries."""
    scores = query @ key.transpose(-1, -2)
    return _softmax(scores if mask is None else scores + mask)


def _softmax(scores: Tensor) -> Tensor:
    """Over the last axis; torch's own takes up to six times as long where that has a few places."""
    if scores.shape[-1] >= MANY:
        return scores.softmax(dim=-1)
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


MANY = 16
"""Places from which on torch's softmax is the faster one."""


def mix(weights: Tensor, value: Tensor) -> Tensor:
    """weights (B, H, T, S) times value (B, H, S, K).

    For one query and few places torch takes a product that is three times as slow as a sum.
    """
    _, _, queries, places = weights.shape
    if queries == 1 and places * value.shape[3] < SMALL:
        return (weights.transpose(-1, -2) * value).sum(dim=-2, keepdim=True)
    return weights @ value


SMALL = 400
"""Multiplications of a product below which torch does it one by one."""


def additive_mask(places: Tensor) -> Tensor:
    """What is added to scores so that these places get no weight; made once, used by all layers."""
    return torch.zeros(places.shape).masked_fill_(places, -math.inf)


def causal_mask(length: int) -> Tensor:
    """(T, T): each place sees itself and what came before."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def split_heads(x: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
    """(B, T, parts x D), one part beside the other, to as many (B, H, T, K)."""
    apart = x.view(*x.shape[:2], parts, heads, -1).unbind(2)  # (B, T, H, K) each
    return tuple(part.transpose(1, 2) for part in apart)


def join_heads(x: Tensor) -> Tensor:
    """(B, H, T, K) to (B, T, D)."""
    return x.transpose(1, 2).flatten(2)


class CrossAttention(nn.Module):
    """The target looks at the source; its keys and values are made once a sentence."""

    def __init__(self, width: int, heads: int, scaled: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.query = linear(width, width)
        self.project = linear(width, 2 * width, parts=2)
        self.core = Core(scaled)
        self.core.across = True
        self.output = linear(width, width)

    def scale_ahead(self) -> None:
        """Let queries come scaled from their map, for search; not to train with."""
        if self.core.scaled:
            scale_ahead(self.query, self.query.out_features, self.heads)
            self.core.scaled = False

    def prepare(self, source: Tensor) -> KeysValues:
        """Keys and values (B, H, S, K) of the encoded source (B, S, D)."""
        key, value = split_heads(self.project(source), self.heads, 2)
        return (key, value) if torch.is_grad_enabled() else (key.contiguous(), value.contiguous())

    def forward(self, x: Tensor, source: KeysValues, mask: Tensor) -> Tensor:
        """x (B x copies, T, D); the hypotheses of a sentence are folded into its query axis."""
        sentences, heads, _, width = source[0].shape
        query = self.query(x).view(sentences, -1, heads, width).transpose(1, 2)
        mixed = self.core(query, *source, mask)  # (B, H, copies x T, K)
        return self.output(mixed.transpose(1, 2).reshape(x.shape))
