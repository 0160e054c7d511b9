"""Averages of the weights over training, which predict better than the last weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.config import MAX_STEPS, Settings
from regard.models.weights import collect, install


class AverageSettings(Settings):
    kind: Literal["none", "ema", "last"] = Field(
        default="ema",
        description="No average, an exponential moving average, or the mean of the last snapshots.",
    )
    decay: float = Field(
        default=0.999, gt=0, lt=1, description="ema: weight of the old average in each step."
    )
    count: int = Field(default=5, le=1_000, ge=1, description="last: number of snapshots.")
    every: int = Field(
        default=200, le=MAX_STEPS, ge=1, description="last: steps between snapshots."
    )

    def build(self, model: nn.Module) -> Average:
        match self.kind:
            case "none":
                return NoAverage(model)
            case "ema":
                return MovingAverage(model, self.decay)
            case "last":
                return SnapshotAverage(model, self.count, self.every)


class Average(ABC):
    """Follows the weights of a model; a checkpoint stores its `tensors`."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.tensors: dict[str, Tensor] = {}

    @abstractmethod
    def update(self, step: int) -> None:
        """Include the weights after a step."""

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """The averaged weights."""

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue with the tensors of a checkpoint, on the device of the model."""
        device = next(iter(collect(self.model).values())).device
        self.tensors = {name: tensor.to(device) for name, tensor in tensors.items()}

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Give the model the averaged weights inside this block, and its own after it."""
        own = {name: tensor.clone() for name, tensor in collect(self.model).items()}
        try:
            install(self.model, self.weights())
            yield
        finally:
            install(self.model, own)


class NoAverage(Average):
    """The weights as they are."""

    def update(self, step: int) -> None:
        pass

    def weights(self) -> dict[str, Tensor]:
        return collect(self.model)


class MovingAverage(Average):
    """Exponential moving average; it decays faster early on, so that the first weights are soon
    forgotten."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        super().__init__(model)
        self.decay = decay
        self.tensors = {name: tensor.clone() for name, tensor in collect(model).items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        kept = min(self.decay, step / (step + 10))
        own = collect(self.model)
        averaged = [self.tensors[name] for name in own]  # a checkpoint stores them in another order
        torch._foreach_lerp_(averaged, list(own.values()), 1 - kept)

    def weights(self) -> dict[str, Tensor]:
        return self.tensors


class SnapshotAverage(Average):
    """The mean of the last snapshots, `every` steps apart (Vaswani et al. 2017 used 5 to 20)."""

    def __init__(self, model: nn.Module, count: int, every: int) -> None:
        super().__init__(model)
        self.count = count
        self.every = every

    def update(self, step: int) -> None:
        if step % self.every:
            return
        slot = step // self.every % self.count  # a ring of snapshots
        for name, tensor in collect(self.model).items():
            self.tensors[f"{slot}/{name}"] = tensor.clone()

    def weights(self) -> dict[str, Tensor]:
        own = collect(self.model)
        if not self.tensors:
            return own
        slots = sorted({name.split("/", 1)[0] for name in self.tensors})
        return {
            name: torch.stack([self.tensors[f"{slot}/{name}"] for slot in slots]).mean(0)
            for name in own
        }
