"""Small softmaxes and weighted sums, for which torch's kernels cost more than they compute."""

from __future__ import annotations

import torch
from torch import Tensor

SOFTMAX_MIN_COLUMNS = 16
"""With at least this many columns torch's softmax is the faster one."""

PRODUCT_MIN_SIZE = 400
"""Products with fewer multiplications than this are done one by one in torch."""


def plain_softmax(scores: Tensor) -> Tensor:
    """Over the last axis."""
    return scores.softmax(dim=-1)


def softmax(scores: Tensor) -> Tensor:
    """The same; torch's own takes up to six times as long where the last axis is short."""
    if scores.shape[-1] >= SOFTMAX_MIN_COLUMNS or not _served(scores):
        return plain_softmax(scores)
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def plain_weighted_sum(weights: Tensor, value: Tensor) -> Tensor:
    """weights (B, H, T, S) times value (B, H, S, K)."""
    return weights @ value


def weighted_sum(weights: Tensor, value: Tensor) -> Tensor:
    """The same; for one query and few keys torch picks a product three times as slow as a sum."""
    _, _, queries, keys = weights.shape
    small = queries == 1 and keys * value.shape[3] < PRODUCT_MIN_SIZE
    if not small or not _served(value):
        return plain_weighted_sum(weights, value)
    return (weights.transpose(-1, -2) * value).sum(dim=-2, keepdim=True)


def _served(x: Tensor) -> bool:
    return x.device.type == "cpu" and x.dtype is torch.float32
