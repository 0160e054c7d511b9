"""Muon: an optimiser whose updates move all directions of a matrix alike."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from regard.processes.ranks import Ranks

QUINTIC = 3.4445, -4.7750, 2.0315
"""Coefficients of x, x^3 and x^5 which in a few rounds bring every x in (0, 1] near 1."""

ROUNDS = 5

LIKE_ADAM = 0.2
"""The usual root mean square of Adam's updates, before the rate."""


class Muon(torch.optim.Optimizer):
    """Momentum made orthogonal for the weights of linear maps, and AdamW for all else (Jordan et
    al. 2024; scaled as by Liu et al. 2025, arXiv 2502.16982).

    An update U S V^T becomes U V^T: directions that gradients seldom take are learned as fast as
    those they often take. It is scaled to the size of Adam's updates, so that one rate serves both.
    Processes that train together share the work: each makes some of the matrices for all.
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
        super().__init__(groups, {"lr": rate, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], float]] = None) -> Any:
        for group, update in zip(self.param_groups, (self._turn, self._adam), strict=True):
            learning = [each for each in group["params"] if each.grad is not None]
            update(learning, group["lr"], group["weight_decay"])

    def _turn(self, weights: list[Tensor], rate: float, decay: float) -> None:
        moves = [self._momentum(weight) for weight in weights]
        flat = torch.zeros(sum(move.numel() for move in moves))
        turned = [
            part.view_as(move)
            for part, move in zip(flat.split([m.numel() for m in moves]), moves, strict=True)
        ]
        pairs = [
            pair
            for move, place in zip(moves, turned, strict=True)
            for pair in zip(apart(move), apart(place), strict=True)
        ]
        for move, place in pairs[self.ranks.rank :: self.ranks.size]:
            torch.mul(orthogonal(move), LIKE_ADAM * sqrt(max(move.shape)), out=place)
        self.ranks.all_reduce(flat)
        torch._foreach_mul_(weights, 1 - rate * decay)
        torch._foreach_add_(weights, turned, alpha=-rate)

    def _momentum(self, weight: Tensor) -> Tensor:
        """Nesterov's: a step ahead of the running mean of the gradients."""
        assert weight.grad is not None
        memory = self.state[weight]
        if not memory:
            memory["mean"] = torch.zeros_like(weight)
        memory["mean"].lerp_(weight.grad, 1 - self.momentum)
        return weight.grad.lerp(memory["mean"], self.momentum)

    def _adam(self, weights: list[Tensor], rate: float, decay: float) -> None:
        for weight in weights:
            if not self.state[weight]:
                self.state[weight] = {
                    "mean": torch.zeros_like(weight),
                    "square": torch.zeros_like(weight),
                    "step": torch.zeros(()),
                }
        memories = [self.state[weight] for weight in weights]
        adamw(
            weights,
            [weight.grad for weight in weights if weight.grad is not None],
            [memory["mean"] for memory in memories],
            [memory["square"] for memory in memories],
            [],
            [memory["step"] for memory in memories],
            fused=True,
            amsgrad=False,
            beta1=self.betas[0],
            beta2=self.betas[1],
            lr=rate,
            weight_decay=decay,
            eps=self.epsilon,
            maximize=False,
        )


def apart(stacked: Tensor) -> list[Tensor]:
    """Maps stacked in one matrix, as queries, keys and values are, each by itself: k times as many
    outputs as inputs are taken for k square maps, those of a feed-forward network too."""
    outputs, inputs = stacked.shape
    return list(stacked.split(inputs)) if outputs % inputs == 0 else [stacked]


def orthogonal(matrix: Tensor) -> Tensor:
    """U V^T of U S V^T, nearly: singular values end between 0.7 and 1.2, but for those that were
    hundreds of times smaller than the largest.

    By rounds of x -> a x + b x^3 + c x^5 on the singular values, which needs products alone; one
    matrix at a time stays in the cache.
    """
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.t() if tall else matrix
    x = x / (x.norm() + 1e-7)
    a, b, c = QUINTIC
    for _ in range(ROUNDS):
        square = x @ x.t()
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.t() if tall else x
