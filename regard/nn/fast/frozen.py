"""Products with a matrix that no longer changes: packed, or rounded to eight bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Optional

from torch import Tensor, nn

from regard.nn.fast.int8 import Int8Linear
from regard.nn.fast.products import pack, times


class Product(nn.Module, ABC):
    """hidden (..., D) times a matrix (V, D), plus a bias (V,), that were given once."""

    @abstractmethod
    def forward(self, hidden: Tensor) -> Tensor:
        """(..., V)"""

    @abstractmethod
    def narrow(self, rows: Tensor, bias: Optional[Tensor]) -> Optional[Product]:
        """The product for some rows of the matrix (N, D); None if torch's own is better."""


class PackedProduct(Product):
    """The matrix is packed once for all steps."""

    def __init__(self, rows: Tensor, bias: Optional[Tensor] = None) -> None:
        super().__init__()
        self.packed = pack(rows)
        self.bias = None if bias is None else bias.detach()

    def __deepcopy__(self, memo: dict[int, object]) -> PackedProduct:
        return self  # never changed, and torch cannot copy a packed matrix

    def forward(self, hidden: Tensor) -> Tensor:
        return times(hidden, self.packed, self.bias)

    def narrow(self, rows: Tensor, bias: Optional[Tensor]) -> None:
        return None  # oneDNN would plan for the choices of every batch


class Int8Product(Product):
    def __init__(self, rows: Tensor, bias: Optional[Tensor] = None) -> None:
        super().__init__()
        self.product = Int8Linear(rows, None if bias is None else bias.detach())

    def forward(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.product(hidden)
        return scores

    def narrow(self, rows: Tensor, bias: Optional[Tensor]) -> Int8Product:
        return Int8Product(rows, bias)
