"""Products with large matrices: by oneDNN where torch has it, which is faster than torch's own for
thousands of columns."""

from __future__ import annotations

import torch
from torch import Tensor

AVAILABLE = torch.backends.mkldnn.is_available()


def pack(matrix: Tensor) -> Tensor:
    """A matrix (N, K) in the order in memory that `times` likes best; of use for nothing else."""
    if not _served(matrix):
        return by_input(matrix)
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(matrix.detach().contiguous())
    return packed


def times(rows: Tensor, matrix: Tensor) -> Tensor:
    """rows (..., K) times a matrix (N, K), packed or not, to (..., N). Has no gradient.

    oneDNN plans for each new shape, which takes as long as a small product: so it is for few
    shapes, or large ones.
    """
    if not _served(rows):
        return rows @ matrix.t()
    product: Tensor = torch.ops.mkldnn._linear_pointwise(rows, matrix, None, "none", [], "")
    return product


def by_input(matrix: Tensor) -> Tensor:
    """The same (N, K), as a view of a contiguous (K, N)."""
    return matrix.detach().t().contiguous().t()


def _served(x: Tensor) -> bool:
    return AVAILABLE and x.dtype is torch.float32
