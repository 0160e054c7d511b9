"""Dropout: how often, how much, and the same places in both directions."""

from __future__ import annotations

import pytest
import torch

from regard.nn.dropout import Dropout, set_dropout


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5])
def test_elements_are_dropped_as_often_as_asked_and_the_mean_stays(probability: float) -> None:
    torch.manual_seed(1)
    dropped = Dropout(probability)(torch.ones(1000, 1003))
    share = float((dropped == 0).float().mean())
    assert share == pytest.approx(probability, abs=1 / 512 + 0.002)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.004)
    assert len(dropped.unique()) == 2


def test_neighbours_are_independent() -> None:
    torch.manual_seed(1)
    kept = (Dropout(0.5)(torch.ones(1_000_000)) > 0).float() - 0.5
    for distance in (1, 2, 4, 8, 64):
        assert abs(float((kept[distance:] * kept[:-distance]).mean()) * 4) < 0.01


def test_the_gradient_passes_where_the_value_did() -> None:
    torch.manual_seed(1)
    x = torch.randn(50, 7, requires_grad=True)
    y = Dropout(0.3)(x)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, y.detach() / x.detach())


def test_adding_equals_dropping_then_adding() -> None:
    dropout = Dropout(0.4)
    x, y = torch.randn(20, 5, requires_grad=True), torch.randn(20, 5, requires_grad=True)
    torch.manual_seed(3)
    fused = dropout.add(x, y)
    torch.manual_seed(3)
    plain = x + dropout(y)
    torch.testing.assert_close(fused, plain)
    weights = torch.randn(20, 5)
    fused_gradients = torch.autograd.grad((fused * weights).sum(), [x, y])
    plain_gradients = torch.autograd.grad((plain * weights).sum(), [x, y])
    torch.testing.assert_close(fused_gradients, plain_gradients)


def test_vectors_are_dropped_whole() -> None:
    torch.manual_seed(1)
    dropped = Dropout(0.25).vectors(torch.ones(300, 200, 3))
    assert torch.equal(dropped[:, :, :1].expand_as(dropped), dropped)
    assert float((dropped == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.01)


def test_nothing_is_dropped_outside_training() -> None:
    x = torch.randn(4, 4)
    dropout = Dropout(0.5).eval()
    assert dropout(x) is x
    assert dropout.vectors(x) is x
    assert torch.equal(dropout.add(x, x), x + x)


def test_a_share_of_the_probability_can_be_set_for_a_whole_model() -> None:
    model = torch.nn.Sequential(Dropout(0.5), torch.nn.Sequential(Dropout(0.25)))
    x = torch.ones(100_000)
    set_dropout(model, 0.5)
    torch.manual_seed(0)
    assert float((model[0](x) == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
    assert float((model[1](x) == 0).float().mean()) == pytest.approx(0.125, abs=0.01)
    set_dropout(model, 0.0)
    assert torch.equal(model(x), x)
    set_dropout(model, 1.0)
    assert float((model[0](x) == 0).float().mean()) == pytest.approx(0.5, abs=0.01)


def test_something_is_kept_at_any_probability() -> None:
    dropped = Dropout(0.999)(torch.ones(100_000))
    assert bool(dropped.isfinite().all())
    assert float(dropped.mean()) == pytest.approx(1, abs=0.3)
