"""The optimiser and its learning-rate schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.config import MAX_STEPS, Settings
from regard.processes.ranks import Ranks
from regard.training.muon import Muon
from regard.training.plan import Moment

Fraction = Annotated[float, Field(ge=0, lt=1)]


class OptimizerSettings(Settings):
    """Adam (Kingma & Ba 2015), AdamW (Loshchilov & Hutter 2019) or Muon, with warm-up and decay.

    inverse_sqrt: rate x min(step / warmup, sqrt(warmup / step)), as in the Transformer paper.
    linear: the same warm-up, then a linear decay to zero at the last step.
    """

    kind: Literal["adam", "adamw", "muon"] = Field(default="adamw", description="Optimiser.")
    rate: float = Field(default=1e-3, le=100, gt=0, description="Peak learning rate.")
    schedule: Literal["inverse_sqrt", "linear"] = Field(
        default="linear", description="How the learning rate decays after the warm-up."
    )
    warmup: int = Field(
        default=500,
        le=MAX_STEPS,
        ge=1,
        description="Warm-up steps; at most a quarter of all steps.",
    )
    betas: tuple[Fraction, Fraction] = Field(
        default=(0.9, 0.98), description="Decay rates of Adam's first and second moments."
    )
    epsilon: float = Field(
        default=1e-9, le=1, gt=0, description="Added to the denominator of Adam's update."
    )
    weight_decay: float = Field(
        default=0.01, le=100, ge=0, description="Decoupled weight decay; with adam, an L2 penalty."
    )
    momentum: Fraction = Field(default=0.95, description="muon: decay rate of the momentum.")
    clip: float = Field(
        default=1.0, le=MAX_STEPS, ge=0, description="Largest gradient norm; 0: no clipping."
    )

    def rate_at(self, step: int, moment: Moment) -> float:
        """The learning rate of update `step`, counted from 1.

        The warm-up counts steps; the linear decay follows the position in the schedule, which
        moves faster or slower than the steps when a plan was revised.
        """
        begin, position, end = moment if self.schedule == "linear" else moment._replace(begin=0)
        warmup = min(self.warmup, max(1, (end - begin) // 4))
        warm = self.rate * (step - begin) / warmup
        if self.schedule == "inverse_sqrt":
            return warm if step <= warmup else self.rate * float((warmup / step) ** 0.5)
        decayed = self.rate * max(0.0, (end + 1 - position) / (end + 1 - warmup))
        return min(warm, decayed, self.rate)

    def build(
        self, model: nn.Module, parameters: Sequence[Tensor], ranks: Ranks
    ) -> torch.optim.Optimizer:
        """For the parameters of a model that this process updates: all, or its part of each."""
        if self.kind == "muon":
            return Muon(
                model,
                ranks,
                self.rate,
                self.betas,
                self.epsilon,
                self.weight_decay,
                self.momentum,
            )
        kind = torch.optim.AdamW if self.kind == "adamw" else torch.optim.Adam
        return kind(
            parameters,
            lr=self.rate,
            betas=self.betas,
            eps=self.epsilon,
            weight_decay=self.weight_decay,
            fused=True,
        )


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as named tensors, for safetensors."""
    return {
        f"{index}.{name}": tensor
        for index, moments in optimizer.state_dict()["state"].items()
        for name, tensor in moments.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load what `optimizer_tensors` returned; torch moves it to the device of the parameters."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = tensor
    complete = optimizer.state_dict()
    complete["state"] = state
    optimizer.load_state_dict(complete)
