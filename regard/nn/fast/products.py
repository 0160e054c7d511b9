"""Large products: by oneDNN where torch has it, which is faster than torch's own."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import functional

AVAILABLE = torch.backends.mkldnn.is_available()

LARGE = 80_000_000
"""Multiplications of a product from which on it is worth that oneDNN plans for its shape."""


def pack(matrix: Tensor) -> Tensor:
    """A matrix (N, K) in the order in memory that `times` likes best; of use for nothing else."""
    if not _served(matrix):
        return by_input(matrix)
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(matrix.detach().contiguous())
    return packed


def times(rows: Tensor, matrix: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    """rows (..., K) times a matrix (N, K), packed or not, to (..., N). Has no gradient.

    oneDNN plans for each new shape, which takes as long as a small product: so it is for few
    shapes, or large ones.
    """
    if not _served(rows):
        return functional.linear(rows, matrix, bias)
    product: Tensor = torch.ops.mkldnn._linear_pointwise(rows, matrix, bias, "none", [], "")
    return product


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """W x + b of x (..., K), with a gradient."""
    large = AVAILABLE and torch.is_grad_enabled() and x.numel() * len(weight) >= LARGE
    return _Affine.apply(x, weight, bias) if large else functional.linear(x, weight, bias)


class _Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        rows = x.flatten(0, -2).contiguous()
        ctx.save_for_backward(rows, weight)
        return times(rows, weight, bias).unflatten(0, x.shape[:-1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows, weight = ctx.saved_tensors  # (M, K), (N, K)
        slopes = gradients[0].flatten(0, -2).contiguous()  # (M, N)
        of_rows = times(slopes, weight.t()).unflatten(0, gradients[0].shape[:-1])
        return of_rows, slopes.t() @ rows, slopes.sum(dim=0)


def by_input(matrix: Tensor) -> Tensor:
    """The same (N, K), as a view of a contiguous (K, N)."""
    return matrix.detach().t().contiguous().t()


def _served(x: Tensor) -> bool:
    return AVAILABLE and x.dtype is torch.float32
