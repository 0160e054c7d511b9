"""The gradients of a step: computed by all processes, summed and clipped."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.data.store import Share
from regard.models.base import Model
from regard.processes.buckets import Buckets
from regard.processes.ranks import Ranks
from regard.training.guard import find_non_finite
from regard.training.halving import Halving
from regard.training.settings import TrainingSettings


class Step(NamedTuple):
    """What is known about a step once its gradients are computed: the summed nll, the norm of the
    gradients before clipping, and whether any process was asked to stop or has news for the
    others."""

    loss: float
    norm: float
    stop: bool
    news: bool


class Gradients(ABC):
    """Leaves each parameter with the clipped gradient of a step of all processes."""

    @abstractmethod
    def parameters(self) -> list[Tensor]:
        """What the optimiser updates in this process."""

    @abstractmethod
    def compute(self, shares: Sequence[Share], stop: bool, news: bool) -> Step:
        """From this process's share of each batch of a step."""

    @abstractmethod
    def find_non_finite(self, shares: Sequence[Share]) -> str:
        """Why a step is not finite, as far as this process can tell."""

    @abstractmethod
    def remove(self) -> None:
        """Let go of the model."""


class SummedGradients(Gradients):
    """Each process has the whole model; gradients are summed over the processes."""

    def __init__(
        self, model: Model, settings: TrainingSettings, ranks: Ranks, note: Callable[[str], None]
    ) -> None:
        self.model = model
        self.precision = settings.precision
        self.clip = settings.optimizer.clip or math.inf
        self.several = ranks.size > 1
        self.buckets = Buckets(self.parameters() if self.several else [], ranks)
        self.halving = Halving(model, settings.precision, note, self.buckets.last_pass)

    def parameters(self) -> list[Tensor]:
        return list(self.model.parameters())

    def compute(self, shares: Sequence[Share], stop: bool, news: bool) -> Step:
        try:
            return self._compute(shares, stop, news)
        except BaseException:
            self.remove()  # sums that are under way keep threads of the group alive
            raise

    def _compute(self, shares: Sequence[Share], stop: bool, news: bool) -> Step:
        tokens = sum(share.tokens for share in shares)
        found = self.halving.backward([share.batch for share in shares], tokens)
        flags, parameters = [float(stop), float(news)], self.parameters()
        if self.several:
            nll = sum(float(each) for each in found)
            summed = self.buckets.finish(parameters[0].new_tensor([nll, *flags]))
            found, flags = [summed[0]], summed[1:].tolist()
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.clip)
        *losses, size = torch.stack([*found, norm]).tolist()  # the only time a step is awaited
        return Step(sum(losses), size, flags[0] > 0, flags[1] > 0)

    def find_non_finite(self, shares: Sequence[Share]) -> str:
        return find_non_finite(self.model, [share.batch for share in shares], self.precision)

    def remove(self) -> None:
        self.buckets.remove()
