"""Dropout whose masks are nearly free: eight-bit thresholds on a stream of 64-bit integers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

LOWEST = -(2**63)


def draw_mask(shape: torch.Size, threshold: int) -> Tensor:
    """Zero with probability threshold / 256, else what keeps the expectation at one."""
    count = shape.numel()
    words = torch.empty((count + 7) // 8, dtype=torch.int64).random_(LOWEST, None)
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


class Dropout(nn.Module):
    """Srivastava et al. 2014, with the probability rounded to a multiple of 1/256 below one.

    Drawing one Bernoulli number an element costs a quarter of a training step of a small
    Transformer on a CPU; one 64-bit integer serves eight elements here. The scale uses the
    rounded probability, so the expectation is exact.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.most = self.threshold = min(255, round(probability * 256))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.threshold == 0:
            return x
        return _Drop.apply(x, self.threshold)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + dropout(y), as at the end of every sub-layer."""
        if not self.training or self.threshold == 0:
            return x + y
        return _AddDropped.apply(x, y, self.threshold)

    def places(self, x: Tensor) -> Tensor:
        """x (B, T, D) with whole vectors left out."""
        if not self.training or self.threshold == 0:
            return x
        return x * draw_mask(x.shape[:2], self.threshold)[:, :, None]


def set_dropout(model: nn.Module, share: float) -> None:
    """Let every dropout in a model work with this share of its probability."""
    for part in model.modules():
        if isinstance(part, Dropout):
            part.threshold = round(part.most * share)
