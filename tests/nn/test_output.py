"""The chunked loss against torch's own, in value and gradient."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from regard.errors import UsageError
from regard.nn.fast import loss as chunked
from regard.nn.fast.loss import chunked_loss, plain_loss
from regard.nn.output import Loss, Output, Projection
from regard.nn.state import State


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 7, 256])
def test_loss_and_gradients_are_those_of_cross_entropy(
    smoothing: float, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunked, "CHUNK_MIN_ROWS", rows)
    monkeypatch.setattr(chunked, "CHUNK_SCORES", 1)
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


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_chunked_loss_is_the_plain_one(
    smoothing: float, biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunked, "CHUNK_MIN_ROWS", 7)
    monkeypatch.setattr(chunked, "CHUNK_SCORES", 1)
    torch.manual_seed(2)
    hidden = torch.randn(30, 6, requires_grad=True)
    weight, target = torch.randn(40, 6, requires_grad=True), torch.randint(0, 40, (30,))
    bias = torch.randn(40, requires_grad=True) if biased else None
    given = hidden, weight, target, smoothing, bias
    found, plain = (make(*given) for make in (chunked_loss, plain_loss))
    torch.testing.assert_close(found, plain)
    learned = [hidden, weight, *([] if bias is None else [bias])]
    torch.testing.assert_close(
        torch.autograd.grad(found[0], learned), torch.autograd.grad(plain[0], learned)
    )


def test_a_bias_is_part_of_every_product() -> None:
    torch.manual_seed(2)
    bias = torch.nn.Parameter(torch.randn(31))
    projection = Projection(torch.nn.Parameter(torch.randn(40, 16)), 0.1, 31, bias)
    hidden, state = torch.randn(2, 3, 16), State((), ())
    expected = (hidden @ projection.weight[:31].t() + bias).detach()
    chosen = torch.tensor([0, 1, 2, 3, 17, 30])
    for made, allowed in (
        (projection, 1e-5),
        (projection.for_search(), 1e-5),
        (projection.quantized(), 0.3),
    ):
        near = {"atol": allowed, "rtol": 0.0}
        torch.testing.assert_close(made.scores(hidden, state), expected, **near)
        narrowed = made.narrow(chosen)
        torch.testing.assert_close(narrowed.scores(hidden, state), expected[..., chosen], **near)


def test_an_output_without_a_shortlist_says_so() -> None:
    class Alone(Output):
        def scores(self, hidden: Tensor, state: State) -> Tensor:
            return hidden

        def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
            raise NotImplementedError

    with pytest.raises(UsageError, match="remove --shortlist"):
        Alone().narrow(torch.arange(3))


def test_huge_scores_do_not_overflow() -> None:
    projection = Projection(torch.nn.Parameter(torch.eye(3) * 1e4), 0.1, 3)
    hidden = torch.tensor([[[1.0, 0.0, 0.0], [-1.0, -1.0, -1.0]]], requires_grad=True)
    loss = projection.loss(hidden, State((), ()), torch.tensor([[0, 1]]), torch.ones(1, 2).bool())
    loss.total.backward()
    assert loss.total.isfinite()
    assert hidden.grad is not None
    assert hidden.grad.isfinite().all()
