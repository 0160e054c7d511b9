"""Large matrix products by oneDNN, where torch has it and it is faster than torch's own."""

from __future__ import annotations

from functools import cache
from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import functional

from regard.nn.fast.precision import is_mixed

ONEDNN_MIN_PRODUCT = 80_000_000
"""Products with at least this many multiplications amortise oneDNN's per-shape planning."""


def plain_product(rows: Tensor, matrix: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    """rows (..., K) times a matrix (N, K), plus a bias (N,), to (..., N)."""
    product = rows @ matrix.t()
    return product if bias is None else product + bias


@cache
def available() -> bool:
    """Whether this build of torch has oneDNN's products; found out by trying a tiny one."""
    if not torch.backends.mkldnn.is_available():
        return False
    try:
        one = torch.ones(1, 1)
        packed = torch.ops.mkldnn._reorder_linear_weight(one)
        product = torch.ops.mkldnn._linear_pointwise(one, packed, None, "none", [], "")
        return float(product) == 1.0
    except (AttributeError, RuntimeError, NotImplementedError):
        return False


def pack(matrix: Tensor) -> Tensor:
    """A matrix (N, K) in the memory layout that `times` prefers; of no other use."""
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
    """W x + b of x (..., K), with a gradient.

    Weights that are being learned meet the same few large shapes again and again, which suits
    oneDNN; frozen ones meet other shapes at each step of search.
    """
    large = weight.requires_grad and x.numel() * len(weight) >= ONEDNN_MIN_PRODUCT
    if large and _served(x) and not is_mixed(x):
        return _Affine.apply(x, weight, bias)
    return functional.linear(x, weight, bias)


class _Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        rows = x.flatten(0, -2).contiguous()
        ctx.save_for_backward(rows, weight)
        return times(rows, weight, bias).unflatten(0, x.shape[:-1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows, weight = ctx.saved_tensors  # (M, K), (N, K)
        grad = gradients[0].flatten(0, -2).contiguous()  # (M, N)
        rows_grad = times(grad, weight.t()).unflatten(0, gradients[0].shape[:-1])
        return rows_grad, grad.t() @ rows, grad.sum(dim=0)


def by_input(matrix: Tensor) -> Tensor:
    """The same (N, K), as a view of a contiguous (K, N)."""
    return matrix.detach().t().contiguous().t()


def _served(x: Tensor) -> bool:
    return x.device.type == "cpu" and x.dtype is torch.float32 and available()
