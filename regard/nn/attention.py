"""Attention: a weighted mean of values, the weights given by how well keys match a query."""

from __future__ import annotations

import math
from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.nn.fast.small import softmax, weighted_sum
from regard.nn.linear import linear
from regard.nn.position import Sinusoidal
from regard.nn.probe import Axis, Watched

KeysValues = tuple[Tensor, Tensor]

FUSED_MIN_QUERIES = 16
"""In search, up to this many queries per sentence are faster with explicit weights."""


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    scaled: bool = True,
    explicit: bool = False,
    causal: bool = False,
) -> tuple[Tensor, Optional[Tensor]]:
    """softmax(Q K^T / sqrt(K) + mask) V (Vaswani et al. 2017, arXiv 1706.03762).

    query (B, H, T, K), key and value (B, H, S, K); the mask is added to the scores and can be
    broadcast to (B, H, T, S). Returns the mean (B, H, T, K), and if `explicit` the weights
    (B, H, T, S), which the fused kernel never makes. `causal` is for the fused kernel: explicit
    weights take a causal mask instead.
    """
    if not explicit:
        scale = None if scaled else 1.0
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=causal, scale=scale
        )
        return mixed, None
    scores = scale_query(query, scaled) @ key.transpose(-1, -2)
    weights = softmax(scores if mask is None else scores + mask)
    return weighted_sum(weights, value), weights


def scale_query(query: Tensor, scaled: bool) -> Tensor:
    """Products of long vectors are large, and a softmax of large numbers learns slowly."""
    return query / math.sqrt(query.shape[-1]) if scaled else query


class AttentionCore(Watched):
    """What all attention over heads has in common.

    `scaled`: divide the scores by sqrt(K). `for_search`: set by `prepare_for_search`.
    """

    for_search = False

    def __init__(self, looks: tuple[Axis, Axis], scaled: bool) -> None:
        super().__init__(looks)
        self.scaled = scaled

    def needs_weights(self, query: Tensor) -> bool:
        """Whether to make the weights of queries (B, H, T, K): for a probe, or for speed."""
        few = query.shape[2] <= FUSED_MIN_QUERIES and query.device.type == "cpu"
        return self.probe is not None or (self.for_search and few)


class DotProductAttention(AttentionCore):
    """`attend` with a probe; it has no parameters."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor]) -> Tensor:
        """query (B, H, T, K), key and value (B, H, S, K), mask as in `attend`; (B, H, T, K)."""
        explicit = self.needs_weights(query)
        mixed, weights = attend(query, key, value, mask, self.scaled, explicit)
        self.record_weights(weights)
        return mixed


def additive_mask(hidden: Tensor) -> Tensor:
    """What is added to scores so that positions where `hidden` is true get no weight."""
    return torch.zeros(hidden.shape, device=hidden.device).masked_fill_(hidden, -math.inf)


def causal_mask(length: int, device: torch.device) -> Tensor:
    """(T, T): each position sees itself and what came before."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def split_heads(x: Tensor, heads: int, parts: int) -> tuple[Tensor, ...]:
    """(B, T, parts x D), the parts side by side, to as many (B, H, T, K)."""
    separate = x.view(*x.shape[:2], parts, heads, -1).unbind(2)  # (B, T, H, K) each
    return tuple(part.transpose(1, 2) for part in separate)


def join_heads(x: Tensor) -> Tensor:
    """(B, H, T, K) to (B, T, D)."""
    return x.transpose(1, 2).flatten(2)


class PositionalAttention(nn.Module):
    """Positions look at positions, so what is mixed depends on order alone: queries and keys are
    made of sinusoids, values of the sequence (Gu et al. 2017, arXiv 1711.02281)."""

    def __init__(self, width: int, heads: int, scaled: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.position = Sinusoidal(width)
        self.query = linear(width, width)
        self.key = linear(width, width, bias=False)  # the same for all keys: softmax ignores it
        self.value = linear(width, width)
        self.core = DotProductAttention(("target", "target"), scaled)
        self.output = linear(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, T, D), and the mask (B, 1, 1, T) that hides its padding."""
        positions = self.position.add(torch.zeros_like(x[:1]), 0)  # (1, T, D)
        query, key = (
            split_heads(make(positions), self.heads, 1)[0].expand(len(x), -1, -1, -1)
            for make in (self.query, self.key)
        )
        (value,) = split_heads(self.value(x), self.heads, 1)
        return self.output(join_heads(self.core(query, key, value, mask)))


class CrossAttention(nn.Module):
    """The target looks at the source, whose keys and values are made once per sentence."""

    def __init__(self, width: int, heads: int, scaled: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.query = linear(width, width)
        self.project = linear(width, 2 * width, parts=2)
        self.core = DotProductAttention(("target", "source"), scaled)
        self.output = linear(width, width)

    def prepare(self, source: Tensor) -> KeysValues:
        """Keys and values (B, H, S, K) of the encoded source (B, S, D)."""
        key, value = split_heads(self.project(source), self.heads, 2)
        if self.core.for_search:  # every step reads them
            return key.contiguous(), value.contiguous()
        return key, value

    def forward(self, x: Tensor, source: KeysValues, mask: Tensor) -> Tensor:
        """x (B x copies, T, D); the hypotheses of a sentence are folded into its query axis."""
        sentences, heads, _, width = source[0].shape
        query = self.query(x).view(sentences, -1, heads, width).transpose(1, 2)
        mixed = self.core(query, *source, mask)  # (B, H, copies x T, K)
        return self.output(mixed.transpose(1, 2).reshape(x.shape))
