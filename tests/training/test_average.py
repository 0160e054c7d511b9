"""Averages of weights against sums done by hand."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch
from torch import Tensor, nn

from regard.training.average import AverageSettings


def wander(model: nn.Linear, step: int) -> Tensor:
    """Give the model other weights, and return them."""
    torch.manual_seed(step)
    nn.init.normal_(model.weight)
    return model.weight.detach().clone()


def test_the_moving_average_is_the_one_computed_by_hand() -> None:
    model = nn.Linear(3, 2, bias=False)
    average = AverageSettings(kind="ema", decay=0.5).build(model)
    expected = model.weight.detach().clone()
    for step in range(1, 30):
        weight = wander(model, step)
        kept = min(0.5, step / (step + 10))
        expected = kept * expected + (1 - kept) * weight
        average.update(step)
    torch.testing.assert_close(average.weights()["weight"], expected)


def test_the_last_average_is_the_mean_of_the_last_snapshots() -> None:
    model = nn.Linear(3, 2, bias=False)
    average = AverageSettings(kind="last", count=3, every=2).build(model)
    snapshots = []
    for step in range(1, 14):
        weight = wander(model, step)
        average.update(step)
        if step % 2 == 0:
            snapshots.append(weight)
        if snapshots:
            mean = torch.stack(snapshots[-3:]).mean(0)
            torch.testing.assert_close(average.weights()["weight"], mean)
        else:
            assert torch.equal(average.weights()["weight"], weight)


def test_no_average_is_the_weights_themselves() -> None:
    model = nn.Linear(3, 2, bias=False)
    average = AverageSettings(kind="none").build(model)
    weight = wander(model, 1)
    average.update(1)
    assert torch.equal(average.weights()["weight"], weight)


@pytest.mark.parametrize("kind", ["none", "ema", "last"])
def test_the_model_has_its_own_weights_again_after_the_average_even_after_an_error(
    kind: str,
) -> None:
    model = nn.Linear(3, 2, bias=False)
    average = AverageSettings(kind=kind, every=1).build(model)
    wander(model, 1)
    average.update(1)
    own = wander(model, 2)
    with suppress(ZeroDivisionError), average.applied():
        assert torch.equal(model.weight, own) == (kind == "none")
        raise ZeroDivisionError
    assert torch.equal(model.weight, own)
