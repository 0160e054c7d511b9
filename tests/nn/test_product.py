"""Products by oneDNN and without it are those of torch."""

from __future__ import annotations

import pytest
import torch

from regard.nn import product
from regard.nn.product import by_input, pack, times


@pytest.mark.parametrize("available", [product.AVAILABLE, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_product_is_the_same_in_every_layout(
    available: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product, "AVAILABLE", available)
    torch.manual_seed(0)
    rows, matrix = torch.randn(3, 5, 7, dtype=dtype), torch.randn(11, 7, dtype=dtype)
    wanted = rows @ matrix.t()
    for laid_out in (matrix, pack(matrix), pack(matrix.t().contiguous().t()), by_input(matrix)):
        torch.testing.assert_close(times(rows, laid_out), wanted)
    x, y = torch.randn(300, 6, dtype=dtype), torch.randn(300, 40, dtype=dtype)
    torch.testing.assert_close(times(x.t(), y.t()), x.t() @ y)


@pytest.mark.parametrize("available", [product.AVAILABLE, False])
def test_no_rows_give_no_products(available: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product, "AVAILABLE", available)
    assert times(torch.zeros(0, 7), pack(torch.ones(11, 7))).shape == (0, 11)
