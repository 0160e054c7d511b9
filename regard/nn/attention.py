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

    Uses the fused kernel, which never makes the weights; with a probe set it computes them, and
    in search too, since for a few queries a sentence that is faster.
    """

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], causal: bool
    ) -> Tensor:
        """query (B, H, T, K), key and value (B, H, S, K), the mask is added to the scores and
        broadcastable to (B, H, T, S); causal: T = S and no token sees a later one."""
        many = torch.is_grad_enabled() or query.shape[2] > FEW
        if self.probe is None and (many or causal):
            return functional.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, is_causal=causal
            )
        if causal:
            mask = hide(~look_back(query.shape[2]))
        scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-1, -2)  # (B, H, T, S)
        weights = _softmax(scores if mask is None else scores + mask)
        if self.probe is not None:
            self.probe.append(weights.detach())
        return weights @ value


FEW = 16
"""Queries of a sentence up to which plain products beat the fused kernel."""


def _softmax(scores: Tensor) -> Tensor:
    """Over the last axis; torch's own takes four times as long where that has a few places."""
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def hide(places: Tensor) -> Tensor:
    """What is added to scores so that these places get no weight; made once, used by all layers."""
    return torch.zeros(places.shape).masked_fill_(places, -math.inf)


def look_back(length: int) -> Tensor:
    """(T, T): each place sees itself and what came before."""
    return torch.ones(length, length, dtype=torch.bool).tril()


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


def see_own(seen: Tensor, sentences: int, length: int) -> Optional[Tensor]:
    """The mask of the next `length` places: (B, 1, copies x T, columns + copies x T).

    `seen` (B x copies, columns) are the columns of each hypothesis so far; of those added now, a
    place sees its hypothesis's own up to itself. None where `read` needs no mask.
    """
    copies = len(seen) // sentences
    if copies == 1 and (length == 1 or seen.shape[1] == 0):
        return None
    own = torch.eye(copies, dtype=torch.bool)[:, None, :, None]  # (copies, 1, copies, 1)
    new = (own & look_back(length)[None, :, None]).flatten(2)  # (copies, T, copies x T)
    before = seen[:, None].expand(-1, length, -1)  # (B x copies, T, columns)
    both = torch.cat([before, new.repeat(sentences, 1, 1)], dim=2)
    return hide(~both.reshape(sentences, 1, copies * length, -1))


def also_own(seen: Tensor, sentences: int, length: int) -> Tensor:
    """The columns of each hypothesis (B x copies, columns) once `length` more are read."""
    own = torch.eye(len(seen) // sentences, dtype=torch.bool).repeat(sentences, 1)
    return torch.cat([seen, own.repeat_interleave(length, dim=1)], dim=1)


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
        """x (B, S, D) and the mask (B, 1, 1, S) that hides padding, as an encoder reads them."""
        query, key, value = self._project(x, 0)
        return self.output(join_heads(self.core(query, key, value, mask, False)))

    def read(
        self, x: Tensor, past: KeysValues, mask: Optional[Tensor], start: int
    ) -> tuple[Tensor, KeysValues]:
        """x (B x copies, T, D) are the next T places of each hypothesis.

        `past` holds the keys and values (B, H, columns, K) of all that any hypothesis of a
        sentence has read, and `mask` (B, 1, copies x T, columns + copies x T) hides what is not
        a hypothesis's own: so a beam reorders what is hidden and never moves a key. None: nothing.
        """
        query, key, value = self._project(x, start)
        if start == 0 and len(query) == len(past[0]):
            mixed = self.core(query, key, value, None, True)
        else:
            sentences = len(past[0])
            query = beside(query, sentences)
            key = torch.cat([past[0], beside(key, sentences)], dim=2)
            value = torch.cat([past[1], beside(value, sentences)], dim=2)
            mixed = apart(self.core(query, key, value, mask, False), len(x))
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
        key, value = split_heads(key, self.heads), split_heads(value, self.heads)
        return (key, value) if torch.is_grad_enabled() else (key.contiguous(), value.contiguous())

    def forward(self, x: Tensor, source: KeysValues, mask: Tensor) -> Tensor:
        """x (B x copies, T, D); the hypotheses of a sentence are folded into its query axis."""
        rows, length, _ = x.shape
        sentences = source[0].shape[0]
        query = self.query(x).reshape(sentences, -1, x.shape[-1])  # (B, copies x T, D)
        mixed = self.core(split_heads(query, self.heads), *source, mask, False)
        return self.output(join_heads(mixed).reshape(rows, length, -1))
