"""The chunked loss against torch's own, in value and gradient."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from regard.nn import output
from regard.nn.output import Projection
from regard.nn.state import State


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 7, 256])
def test_loss_and_gradients_are_those_of_cross_entropy(
    smoothing: float, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "LEAST_ROWS", rows)
    monkeypatch.setattr(output, "CHUNK", 1)
    torch.manual_seed(2)
    hidden = torch.randn(4, 9, 6, requires_grad=True)
    projection = Projection(torch.nn.Parameter(torch.randn(40, 6)), smoothing, 31)
    target = torch.randint(0, 31, (4, 9))
    mask = torch.rand(4, 9) < 0.7
    found = projection.loss(hidden, State((), ()), target, mask)
    expected = functional.cross_entropy(
        (hidden @ projection.weight[:31].t())[mask],
        target[mask],
        reduction="sum",
        label_smoothing=smoothing,
    )
    torch.testing.assert_close(found.total, expected)
    logs = (hidden @ projection.weight[:31].t()).log_softmax(dim=-1)
    right = logs.gather(2, target[:, :, None])[:, :, 0][mask]
    torch.testing.assert_close(found.nll, -right.detach())
    sources = [hidden, projection.weight]
    torch.testing.assert_close(
        torch.autograd.grad(found.total * 0.3, sources),
        torch.autograd.grad(expected * 0.3, sources),
    )


def test_huge_scores_do_not_overflow() -> None:
    projection = Projection(torch.nn.Parameter(torch.eye(3) * 1e4), 0.1, 3)
    hidden = torch.tensor([[[1.0, 0.0, 0.0], [-1.0, -1.0, -1.0]]], requires_grad=True)
    loss = projection.loss(hidden, State((), ()), torch.tensor([[0, 1]]), torch.ones(1, 2).bool())
    loss.total.backward()
    assert loss.total.isfinite()
    assert hidden.grad is not None
    assert hidden.grad.isfinite().all()
