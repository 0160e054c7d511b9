"""Muon: an optimiser whose updates move all directions of a matrix equally."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from regard.processes.ranks import Ranks

QUINTIC = 3.4445, -4.7750, 2.0315
"""Coefficients of x, x^3 and x^5 that bring every x in (0, 1] near 1 in a few iterations."""

ITERATIONS = 5

ADAM_UPDATE_SIZE = 0.2
"""The usual root mean square of Adam's updates, before the learning rate."""


class Muon(torch.optim.Optimizer):
    """Orthogonalised momentum for the weights of linear layers, AdamW for everything else (Jordan
    et al. 2024; scaled as by Liu et al. 2025, arXiv 2502.16982).

    An update U S V^T becomes U V^T: directions that gradients rarely take are learned as fast as
    those they often take. It is scaled to the size of Adam's updates, so that one learning rate
    suits both. Processes that train together share the work: each orthogonalises some of the
    matrices for all.
    """

    def __init__(
        self,
        model: nn.Module,
        ranks: Ranks,
        rate: float,
        betas: tuple[float, float],
        epsilon: float,
        weight_decay: float,
        momentum: float,
    ) -> None:
        self.ranks = ranks
        self.betas = betas
        self.epsilon = epsilon
        self.momentum = momentum
        maps = {id(part.weight) for part in model.modules() if isinstance(part, nn.Linear)}
        parameters = list(model.parameters())
        groups = [
            {"params": [each for each in parameters if id(each) in maps]},
            {"params": [each for each in parameters if id(each) not in maps]},
        ]
        # "fused" makes torch restore Adam's step counts on the device of their parameters.
        super().__init__(groups, {"lr": rate, "weight_decay": weight_decay, "fused": True})

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], float]] = None) -> Any:
        for group, update in zip(self.param_groups, (self._muon, self._adam), strict=True):
            weights = [each for each in group["params"] if each.grad is not None]
            if weights:
                update(weights, group["lr"], group["weight_decay"])

    def _muon(self, weights: list[Tensor], rate: float, decay: float) -> None:
        updates = self._orthogonalise([self._momentum(weight) for weight in weights])
        torch._foreach_mul_(weights, 1 - rate * decay)
        torch._foreach_add_(weights, updates, alpha=-rate)

    def _orthogonalise(self, momenta: list[Tensor]) -> list[Tensor]:
        """The update of each matrix; this process computes its share, and a sum joins them."""
        sizes = [momentum.numel() for momentum in momenta]
        flat = momenta[0].new_zeros(sum(sizes))
        updates = [
            part.view_as(momentum)
            for part, momentum in zip(flat.split(sizes), momenta, strict=True)
        ]
        maps = [
            pair
            for momentum, update in zip(momenta, updates, strict=True)
            for pair in zip(unstack(momentum), unstack(update), strict=True)
        ]
        for momentum, update in maps[self.ranks.rank :: self.ranks.size]:
            scale = ADAM_UPDATE_SIZE * sqrt(max(momentum.shape))
            torch.mul(orthogonal(momentum), scale, out=update)
        self.ranks.all_reduce(flat)
        return updates

    def _momentum(self, weight: Tensor) -> Tensor:
        """Nesterov momentum: one step ahead of the moving average of the gradients."""
        assert weight.grad is not None
        state = self.state[weight]
        if not state:
            state["mean"] = torch.zeros_like(weight)
        state["mean"].lerp_(weight.grad, 1 - self.momentum)
        return weight.grad.lerp(state["mean"], self.momentum)

    def _adam(self, weights: list[Tensor], rate: float, decay: float) -> None:
        for weight in weights:
            if not self.state[weight]:
                self.state[weight] = {
                    "mean": torch.zeros_like(weight),
                    "square": torch.zeros_like(weight),
                    "step": torch.zeros((), device=weight.device),
                }
        states = [self.state[weight] for weight in weights]
        adamw(
            weights,
            [weight.grad for weight in weights if weight.grad is not None],
            [state["mean"] for state in states],
            [state["square"] for state in states],
            [],
            [state["step"] for state in states],
            fused=True,
            amsgrad=False,
            beta1=self.betas[0],
            beta2=self.betas[1],
            lr=rate,
            weight_decay=decay,
            eps=self.epsilon,
            maximize=False,
        )


def unstack(stacked: Tensor) -> list[Tensor]:
    """The maps stacked in one matrix, as those of queries, keys and values are: a matrix with k
    times as many outputs as inputs counts as k square maps, that of a feed-forward network too."""
    outputs, inputs = stacked.shape
    return list(stacked.split(inputs)) if outputs % inputs == 0 else [stacked]


def orthogonal(matrix: Tensor) -> Tensor:
    """Approximately U V^T of U S V^T: singular values end between 0.7 and 1.2, except those that
    were hundreds of times smaller than the largest.

    Iterates x -> a x + b x^3 + c x^5 on the singular values, which takes matrix products only; one
    matrix at a time stays in the cache.
    """
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.t() if tall else matrix
    x = x / (x.norm() + 1e-7)
    a, b, c = QUINTIC
    for _ in range(ITERATIONS):
        square = x @ x.t()
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.t() if tall else x
