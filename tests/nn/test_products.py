"""Products by oneDNN and without it are those of torch."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from regard.nn.fast import products
from regard.nn.fast.products import affine, available, by_input, pack, plain_product, times


def pretend(onednn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "available", lambda: onednn)


@pytest.mark.parametrize("onednn", [available(), False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_product_is_the_same_in_every_layout(
    onednn: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(onednn, monkeypatch)
    torch.manual_seed(0)
    rows, matrix = torch.randn(3, 5, 7, dtype=dtype), torch.randn(11, 7, dtype=dtype)
    bias = torch.randn(11, dtype=dtype)
    for layout in (matrix, pack(matrix), pack(matrix.t().contiguous().t()), by_input(matrix)):
        torch.testing.assert_close(times(rows, layout), plain_product(rows, matrix))
        torch.testing.assert_close(times(rows, layout, bias), plain_product(rows, matrix, bias))
    x, y = torch.randn(300, 6, dtype=dtype), torch.randn(300, 40, dtype=dtype)
    torch.testing.assert_close(times(x.t(), y.t()), x.t() @ y)


@pytest.mark.parametrize("onednn", [available(), False])
def test_no_rows_give_no_products(onednn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(onednn, monkeypatch)
    assert times(torch.zeros(0, 7), pack(torch.ones(11, 7))).shape == (0, 11)


@pytest.mark.parametrize("shape", [(6,), (3, 4), (2, 3, 4)])
def test_an_affine_map_and_its_gradients_are_those_of_torch(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "ONEDNN_MIN_PRODUCT", 0)
    torch.manual_seed(1)
    x = torch.randn(*shape, 7, requires_grad=True)
    weight, bias = torch.randn(11, 7, requires_grad=True), torch.randn(11, requires_grad=True)
    found, wanted = affine(x, weight, bias), functional.linear(x, weight, bias)
    assert (type(found.grad_fn).__name__ == "_AffineBackward") == available()
    torch.testing.assert_close(found, wanted)
    for grad in (torch.randn(*shape, 11), torch.ones(()).expand(*shape, 11)):
        torch.testing.assert_close(
            torch.autograd.grad(found, [x, weight, bias], grad, retain_graph=True),
            torch.autograd.grad(wanted, [x, weight, bias], grad, retain_graph=True),
        )


def test_frozen_weights_use_torchs_own_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "ONEDNN_MIN_PRODUCT", 0)
    x, weight, bias = torch.randn(3, 7, requires_grad=True), torch.randn(11, 7), torch.randn(11)
    found = affine(x, weight, bias)
    assert type(found.grad_fn).__name__ != "_AffineBackward"
    assert torch.equal(found, functional.linear(x, weight, bias))


def test_a_gradient_goes_through_any_view_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "ONEDNN_MIN_PRODUCT", 0)
    wide, bias = torch.randn(5, 4, 14), torch.randn(11)
    weight = torch.randn(11, 7, requires_grad=True)
    for view in (wide[..., :7], wide.transpose(0, 1)[..., 7:], wide[:1, :, :7].expand(5, 4, 7)):
        x = view.detach().requires_grad_()
        torch.testing.assert_close(affine(x, weight, bias), functional.linear(x, weight, bias))
        affine(x, weight, bias).sum().backward()
        assert x.grad is not None
        torch.testing.assert_close(x.grad, weight.detach().sum(dim=0).expand_as(x))
