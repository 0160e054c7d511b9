"""Products by oneDNN and without it are those of torch."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from regard.nn.fast import products as product
from regard.nn.fast.products import affine, by_input, pack, times


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


@pytest.mark.parametrize("shape", [(6,), (3, 4), (2, 3, 4)])
def test_an_affine_map_and_its_gradients_are_those_of_torch(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product, "LARGE", 0)
    torch.manual_seed(1)
    x = torch.randn(*shape, 7, requires_grad=True)
    weight, bias = torch.randn(11, 7, requires_grad=True), torch.randn(11, requires_grad=True)
    found, wanted = affine(x, weight, bias), functional.linear(x, weight, bias)
    assert (type(found.grad_fn).__name__ == "_AffineBackward") == product.AVAILABLE
    torch.testing.assert_close(found, wanted)
    for slope in (torch.randn(*shape, 11), torch.ones(()).expand(*shape, 11)):
        torch.testing.assert_close(
            torch.autograd.grad(found, [x, weight, bias], slope, retain_graph=True),
            torch.autograd.grad(wanted, [x, weight, bias], slope, retain_graph=True),
        )


def test_a_gradient_goes_through_any_view_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product, "LARGE", 0)
    wide, weight, bias = torch.randn(5, 4, 14), torch.randn(11, 7), torch.randn(11)
    for view in (wide[..., :7], wide.transpose(0, 1)[..., 7:], wide[:1, :, :7].expand(5, 4, 7)):
        x = view.detach().requires_grad_()
        torch.testing.assert_close(affine(x, weight, bias), functional.linear(x, weight, bias))
        affine(x, weight, bias).sum().backward()
        assert x.grad is not None
        torch.testing.assert_close(x.grad, weight.sum(dim=0).expand_as(x))
