"""Gradients that are summed over processes while others are still computed."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any, cast
from weakref import ref

import pytest
import torch
from torch import Tensor, nn

from regard.data.store import Offset, Share
from regard.models.example import EXAMPLE_SIZES
from regard.models.transformer import TransformerConfig
from regard.processes.buckets import Buckets
from regard.processes.ranks import PeerLost, Ranks
from regard.training.gradients import SummedGradients
from regard.training.settings import TrainingSettings


class Wire:
    """Stands between this process and others whose gradients are all zero: what it is given comes
    back as it was."""

    def __init__(self) -> None:
        self.sent: list[Tensor] = []
        self.finished = 0

    def begin_all_reduce(self, tensor: Tensor) -> Any:
        self.sent.append(tensor.clone())
        return SimpleNamespace()

    def finish(self, work: Any) -> None:
        self.finished += 1


def stack() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(*(nn.Linear(4, 4, bias=False) for _ in range(3)))


@pytest.fixture
def wire() -> Wire:
    return Wire()


def buckets_of(model: nn.Module, wire: Wire) -> Buckets:
    """One bucket per parameter."""
    return Buckets(list(model.parameters()), cast(Ranks, wire), size=1)


def gradients(model: nn.Module) -> list[Tensor]:
    found = [parameter.grad for parameter in model.parameters()]
    return [each.clone() for each in found if each is not None]


def test_buckets_leave_during_the_last_backward_pass_and_no_earlier_one(wire: Wire) -> None:
    model, x = stack(), torch.randn(2, 4)
    buckets = buckets_of(model, wire)
    model(x).square().sum().backward()
    assert not wire.sent
    with buckets.last_pass():
        model(x).square().sum().backward()
    own = gradients(model)
    assert len(wire.sent) == 2
    assert torch.equal(wire.sent[0], own[2].flatten())  # both passes, and the last layer first
    assert torch.equal(buckets.finish(torch.tensor([7.0])), torch.tensor([7.0]))
    assert wire.finished == 3
    assert all(map(torch.equal, gradients(model), own))


def test_a_pass_that_fails_in_the_middle_is_repeated_without_sending_twice(wire: Wire) -> None:
    model, x = stack(), torch.randn(4, 4)
    whole = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))

    def fail(grad: Tensor) -> None:
        raise MemoryError

    buckets = buckets_of(model, wire)
    hidden = model[0](x)
    hidden.register_hook(fail)
    with pytest.raises(MemoryError), buckets.last_pass():
        model[2](model[1](hidden)).square().sum().backward()
    assert len(wire.sent) == 2
    model.zero_grad()
    model(x[:2]).square().sum().backward()
    assert len(wire.sent) == 2  # half a gradient is none
    with buckets.last_pass():
        model(x[2:]).square().sum().backward()
    buckets.finish(torch.zeros(1))
    assert len(wire.sent) == 3
    for found, expected in zip(gradients(model), whole, strict=True):
        torch.testing.assert_close(found, expected)


def test_a_process_without_rows_sends_the_same_buckets(wire: Wire) -> None:
    model = stack()
    buckets_of(model, wire).finish(torch.zeros(3))
    assert [len(each) for each in wire.sent] == [16, 16, 16 + 3]
    assert all(not each.any() for each in wire.sent)
    assert all(not each.any() for each in gradients(model))


def test_a_parameter_that_was_not_used_holds_nothing_up(wire: Wire) -> None:
    model, x = stack(), torch.randn(2, 4)
    buckets = buckets_of(model, wire)
    with buckets.last_pass():
        model[0](x).sum().backward()
    buckets.finish(torch.zeros(1))
    assert [bool(each.any()) for each in wire.sent] == [False, False, True]


def test_a_small_model_is_one_sum(wire: Wire) -> None:
    model = stack()
    buckets = Buckets(list(model.parameters()), cast(Ranks, wire))
    with buckets.last_pass():
        model(torch.randn(2, 4)).sum().backward()
    assert not wire.sent
    buckets.finish(torch.zeros(1))
    assert len(wire.sent) == 1


def test_hooks_can_be_removed(wire: Wire) -> None:
    model = stack()
    buckets = buckets_of(model, wire)
    buckets.remove()
    with buckets.last_pass():
        model(torch.randn(2, 4)).sum().backward()
    assert not wire.sent


class LostWire:
    """To another process that is gone when its first sum is awaited."""

    size = 2

    def __init__(self) -> None:
        self.works: list[ref[Wire]] = []

    def begin_all_reduce(self, tensor: Tensor) -> Any:
        work = Wire()
        self.works.append(ref(work))
        return work

    def finish(self, work: Any) -> None:
        raise PeerLost("gone")


def test_a_step_that_fails_lets_go_of_the_sums_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which would keep threads of the group alive after it is left."""
    monkeypatch.setattr(Buckets.__init__, "__defaults__", (1,))  # one bucket per parameter
    config, wire = TransformerConfig.miniatures()[0], LostWire()
    gradients = SummedGradients(
        config.build(*EXAMPLE_SIZES), TrainingSettings(), cast(Ranks, wire), print
    )
    batch = config.example(rows=3, seed=1)
    with pytest.raises(PeerLost):
        gradients.compute([Share(batch, batch.tokens, False, Offset())], stop=False, news=False)
    assert len(wire.works) > 2
    gc.collect()
    assert not any(work() for work in wire.works)
