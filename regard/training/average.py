"""Averages of the weights over training, which translate better than the last weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.config import Settings
from regard.models.weights import collect, install


class AverageSettings(Settings):
    kind: Literal["none", "ema", "last"] = "ema"
    decay: float = Field(default=0.999, gt=0, lt=1)  # ema: how much of the old stays at a step
    count: int = Field(default=5, ge=1)  # last: how many snapshots
    every: int = Field(default=200, ge=1)  # last: steps between two snapshots

    def build(self, model: nn.Module) -> Average:
        match self.kind:
            case "none":
                return Plain(model)
            case "ema":
                return Moving(model, self.decay)
            case "last":
                return Last(model, self.count, self.every)


class Average(ABC):
    """Follows the weights of a model; `tensors` is what a checkpoint keeps of it."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.tensors: dict[str, Tensor] = {}

    @abstractmethod
    def update(self, step: int) -> None:
        """Take in the weights after a step."""

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """The weights to use."""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model carries the averaged weights inside this block, its own again after it."""
        own = {name: tensor.clone() for name, tensor in collect(self.model).items()}
        try:
            install(self.model, self.weights())
            yield
        finally:
            install(self.model, own)


class Plain(Average):
    """No average."""

    def update(self, step: int) -> None:
        pass

    def weights(self) -> dict[str, Tensor]:
        return collect(self.model)


class Moving(Average):
    """Exponential moving average; early on it forgets faster, so that the start leaves no trace."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        super().__init__(model)
        self.decay = decay
        self.tensors = {name: tensor.clone() for name, tensor in collect(model).items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        kept = min(self.decay, step / (step + 10))
        own = collect(self.model)
        mine = [self.tensors[name] for name in own]  # a checkpoint brings them in another order
        torch._foreach_lerp_(mine, list(own.values()), 1 - kept)

    def weights(self) -> dict[str, Tensor]:
        return self.tensors


class Last(Average):
    """The mean of the last snapshots, `every` steps apart (Vaswani et al. 2017 took 5 to 20)."""

    def __init__(self, model: nn.Module, count: int, every: int) -> None:
        super().__init__(model)
        self.count = count
        self.every = every

    def update(self, step: int) -> None:
        if step % self.every:
            return
        place = step // self.every % self.count  # a ring of snapshots
        for name, tensor in collect(self.model).items():
            self.tensors[f"{place}/{name}"] = tensor.clone()

    def weights(self) -> dict[str, Tensor]:
        own = collect(self.model)
        if not self.tensors:
            return own
        places = sorted({name.split("/", 1)[0] for name in self.tensors})
        return {
            name: torch.stack([self.tensors[f"{place}/{name}"] for place in places]).mean(0)
            for name in own
        }
