"""The schedule of the rate, and an optimiser that forgets nothing."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.config import check
from regard.errors import UsageError
from regard.processes.ranks import Ranks
from regard.training.optimizers import OptimizerSettings, optimizer_tensors, restore_optimizer
from regard.training.plan import Plan


def rate(settings: OptimizerSettings, step: int, steps: int) -> float:
    return settings.rate_at(step, Plan.of(steps).moment(step))


def test_the_inverse_square_root_schedule_is_that_of_the_paper() -> None:
    settings = OptimizerSettings(schedule="inverse_sqrt", rate=2.0, warmup=100)
    peak = 512**-0.5 * min(100**-0.5, 100 * 100**-1.5)  # the paper's formula at its highest
    for step in (1, 50, 100, 101, 400, 2500):
        paper = 512**-0.5 * min(step**-0.5, step * 100**-1.5)
        assert rate(settings, step, 10_000) == pytest.approx(2.0 * paper / peak)


def test_the_linear_schedule_rises_then_falls_to_zero_after_the_last_step() -> None:
    settings = OptimizerSettings(schedule="linear", rate=1.0, warmup=10)
    assert rate(settings, 5, 100) == pytest.approx(0.5)
    assert rate(settings, 10, 100) == pytest.approx(1.0)
    assert rate(settings, 55, 100) == pytest.approx(46 / 91)
    assert rate(settings, 100, 100) == pytest.approx(1 / 91)
    assert rate(settings, 101, 100) == 0


@pytest.mark.parametrize("schedule", ["linear", "inverse_sqrt"])
@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_a_budget_smaller_than_the_warm_up_still_learns_and_never_exceeds_the_rate(
    schedule: str, steps: int
) -> None:
    settings = OptimizerSettings(schedule=schedule, rate=1.0, warmup=500)
    rates = [rate(settings, step, steps) for step in range(1, steps + 1)]
    assert max(rates) == 1.0
    assert min(rates) > 0


@pytest.mark.parametrize(("kind", "tensors"), [("adam", 6), ("adamw", 6), ("muon", 4)])
def test_a_restored_optimiser_goes_on_bit_for_bit(kind: str, tensors: int) -> None:
    settings = OptimizerSettings(kind=kind)

    def steps(model: nn.Module, optimizer: torch.optim.Optimizer, numbers: range) -> None:
        for number in numbers:
            torch.manual_seed(number)
            model(torch.randn(4, 5)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    torch.manual_seed(0)
    uninterrupted = nn.Linear(5, 3)
    first = settings.build(uninterrupted, list(uninterrupted.parameters()), Ranks())
    steps(uninterrupted, first, range(3))
    resumed = nn.Linear(5, 3)
    resumed.load_state_dict(uninterrupted.state_dict())
    second = settings.build(resumed, list(resumed.parameters()), Ranks())
    restore_optimizer(second, {k: v.clone() for k, v in optimizer_tensors(first).items()})
    steps(uninterrupted, first, range(3, 6))
    steps(resumed, second, range(3, 6))
    assert torch.equal(uninterrupted.weight, resumed.weight)
    assert torch.equal(uninterrupted.bias, resumed.bias)
    before, after = optimizer_tensors(first), optimizer_tensors(second)
    assert before.keys() == after.keys()
    assert len(before) == tensors  # adam: two moments and a count for each parameter
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("betas", [[0.9], [1.0, 0.9], [-0.1, 0.9], "x"])
def test_impossible_betas_are_refused_before_training(betas: object) -> None:
    with pytest.raises(UsageError, match="betas"):
        check(OptimizerSettings, {"betas": betas})
