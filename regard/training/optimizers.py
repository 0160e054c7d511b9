"""The optimiser and how its rate rises and falls."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.config import Settings
from regard.processes.ranks import Ranks
from regard.training.muon import Muon

Share = Annotated[float, Field(ge=0, lt=1)]


class OptimizerSettings(Settings):
    """Adam (Kingma & Ba 2015), AdamW (Loshchilov & Hutter 2019) or Muon, with warm-up and decay.

    inverse_sqrt: peak x min(step / warmup, sqrt(warmup / step)), as in the Transformer paper.
    linear: the same rise, then straight down to zero at the end of the budget.
    """

    kind: Literal["adam", "adamw", "muon"] = "adamw"
    rate: float = Field(default=1e-3, gt=0)
    schedule: Literal["inverse_sqrt", "linear"] = "linear"
    warmup: int = Field(default=500, ge=1)
    betas: tuple[Share, Share] = (0.9, 0.98)
    epsilon: float = Field(default=1e-9, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    momentum: Share = 0.95  # of muon
    clip: float = Field(default=1.0, ge=0)  # largest norm of the gradient; 0: no limit

    def rate_at(self, step: int, steps: int) -> float:
        """The rate of update number `step`, counted from 1, out of `steps`."""
        warmup = min(self.warmup, max(1, steps // 4))
        if step <= warmup:
            return self.rate * step / warmup
        if self.schedule == "inverse_sqrt":
            return self.rate * float((warmup / step) ** 0.5)
        return self.rate * max(0.0, (steps + 1 - step) / (steps + 1 - warmup))

    def build(self, model: nn.Module, ranks: Ranks) -> torch.optim.Optimizer:
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
            list(model.parameters()),
            lr=self.rate,
            betas=self.betas,
            eps=self.epsilon,
            weight_decay=self.weight_decay,
            fused=True,
        )


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's memory as named tensors, for safetensors."""
    return {
        f"{index}.{name}": tensor
        for index, memory in optimizer.state_dict()["state"].items()
        for name, tensor in memory.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = tensor
    whole = optimizer.state_dict()
    whole["state"] = state
    optimizer.load_state_dict(whole)
