"""The blocks of the Transformer; each forward reads like the figure of the paper."""

from __future__ import annotations

from typing import Literal, Optional

import torch
from torch import Tensor, nn

from regard.nn.attention import CrossAttention, KeysValues, SelfAttention
from regard.nn.dropout import Dropout
from regard.nn.linear import linear
from regard.nn.position import Position

Placement = Literal["pre", "post"]


class Embedding(nn.Module):
    """Token vectors times sqrt(width), plus where they stand."""

    def __init__(
        self, tokens: nn.Embedding, position: Position, dropout: float, scaled: bool = True
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.position = position
        self.dropout = Dropout(dropout)
        self.scale = tokens.embedding_dim**0.5 if scaled else 1.0

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:
        """tokens (B, T) whose first column stands at `start`, to (B, T, D)."""
        return self.dropout(self.position.add(self.tokens(tokens) * self.scale, start))


class AddNorm(nn.Module):
    """Residual connection and layer norm around a sub-layer f.

    post, as in the paper: norm(x + f(x)); pre, which trains more easily: x + f(norm(x))
    (Xiong et al. 2020, arXiv 2002.04745).
    """

    def __init__(self, width: int, placement: Placement, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)
        self.pre = placement == "pre"

    def enter(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.pre else x

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.dropout.add(x, y)
        return x if self.pre else self.norm(x)


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, at each place by itself."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.expand = linear(width, inner)
        self.contract = linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(torch.relu(self.expand(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(
        self,
        width: int,
        inner: int,
        heads: int,
        position: Position,
        placement: Placement,
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, position)
        self.feed_forward = FeedForward(width, inner)
        self.around_attention = AddNorm(width, placement, dropout)
        self.around_feed_forward = AddNorm(width, placement, dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, D), mask (B, 1, 1, S)."""
        y = self.attention(self.around_attention.enter(x), mask)
        x = self.around_attention.leave(x, y)
        y = self.feed_forward(self.around_feed_forward.enter(x))
        return self.around_feed_forward.leave(x, y)


class CausalLayer(nn.Module):
    """Self-attention over the text so far, then a feed-forward network."""

    def __init__(
        self,
        width: int,
        inner: int,
        heads: int,
        position: Position,
        placement: Placement,
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, position)
        self.feed_forward = FeedForward(width, inner)
        self.around_attention = AddNorm(width, placement, dropout)
        self.around_feed_forward = AddNorm(width, placement, dropout)

    def forward(
        self, x: Tensor, past: KeysValues, past_mask: Optional[Tensor], start: int
    ) -> tuple[Tensor, KeysValues]:
        """x (B x copies, T, D) after `start` earlier places; `past` has their keys and values."""
        y, past = self.attention.read(self.around_attention.enter(x), past, past_mask, start)
        x = self.around_attention.leave(x, y)
        y = self.feed_forward(self.around_feed_forward.enter(x))
        return self.around_feed_forward.leave(x, y), past


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, attention over the source, feed-forward."""

    def __init__(
        self,
        width: int,
        inner: int,
        heads: int,
        position: Position,
        placement: Placement,
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, position)
        self.source_attention = CrossAttention(width, heads)
        self.feed_forward = FeedForward(width, inner)
        self.around_attention = AddNorm(width, placement, dropout)
        self.around_source = AddNorm(width, placement, dropout)
        self.around_feed_forward = AddNorm(width, placement, dropout)

    def forward(
        self,
        x: Tensor,
        source: KeysValues,
        mask: Tensor,
        past: KeysValues,
        past_mask: Optional[Tensor],
        start: int,
    ) -> tuple[Tensor, KeysValues]:
        """x (B x copies, T, D) after `start` earlier places; `past` has their keys and values."""
        y, past = self.attention.read(self.around_attention.enter(x), past, past_mask, start)
        x = self.around_attention.leave(x, y)
        y = self.source_attention(self.around_source.enter(x), source, mask)
        x = self.around_source.leave(x, y)
        y = self.feed_forward(self.around_feed_forward.enter(x))
        return self.around_feed_forward.leave(x, y), past
