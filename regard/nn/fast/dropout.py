"""Dropout masks at an eighth of the usual random numbers: eight-bit thresholds on 64-bit integers.

Drawing one Bernoulli number per element costs a quarter of a training step of a small Transformer
on a CPU; here one 64-bit integer serves eight elements. Other devices, and other types
than float32, draw their own way.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

INT64_MIN = -(2**63)


def plain_dropout(x: Tensor, threshold: int) -> Tensor:
    """x with each element zeroed with probability threshold / 256, the others scaled up."""
    return functional.dropout(x, threshold / 256)


def drop(x: Tensor, threshold: int) -> Tensor:
    """The same by eight-bit thresholds."""
    return _Drop.apply(x, threshold) if _served(x) else plain_dropout(x, threshold)


def add_dropped(x: Tensor, y: Tensor, threshold: int) -> Tensor:
    """x + dropout(y)."""
    if not (_served(x) and _served(y)):
        return x + plain_dropout(y, threshold)
    return _AddDropped.apply(x, y, threshold)


def drop_vectors(x: Tensor, threshold: int) -> Tensor:
    """x (B, T, D) with whole vectors zeroed."""
    if not _served(x):
        return x * plain_dropout(x.new_ones(x.shape[:2]), threshold)[:, :, None]
    return x * draw_mask(x.shape[:2], threshold)[:, :, None]


def draw_mask(shape: torch.Size, threshold: int) -> Tensor:
    """Zero with probability threshold / 256, else what keeps the expectation at one."""
    count = shape.numel()
    words = torch.empty((count + 7) // 8, dtype=torch.int64).random_(INT64_MIN, None)
    mask = torch.empty(count)
    torch.ge(words.view(torch.uint8)[:count], threshold, out=mask)
    return mask.mul_(256 / (256 - threshold)).view(shape)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int) -> Tensor:
        mask = draw_mask(x.shape, threshold)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return gradients[0] * mask, None


class _AddDropped(torch.autograd.Function):
    """x + dropped y in one pass over memory."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, threshold: int) -> Tensor:
        mask = draw_mask(y.shape, threshold)
        ctx.save_for_backward(mask)
        return torch.addcmul(x, y, mask)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (mask,) = ctx.saved_tensors
        return gradients[0], gradients[0] * mask, None


def _served(x: Tensor) -> bool:
    return x.device.type == "cpu" and x.dtype is torch.float32
