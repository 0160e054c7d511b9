"""From hidden vectors to choices: scores for search, the loss for training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.state import State

CHUNK = 2**21
"""Scores held at a time during the loss: about what stays in a core's cache."""


@dataclass(frozen=True)
class Loss:
    """Sums over the target tokens of a batch; whoever knows all batches of a step divides."""

    total: Tensor  # what training minimises, label smoothing included
    likelihood: Tensor  # -log p of the target, for perplexity; no gradient
    tokens: int

    @property
    def per_token(self) -> float:
        return float(self.likelihood) / max(self.tokens, 1)


class Output(nn.Module, ABC):
    @abstractmethod
    def scores(self, hidden: Tensor, state: State) -> Tensor:
        """hidden (B, T, D) to (B, T, V): log-probabilities up to a constant for each place."""

    @abstractmethod
    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        """The loss of target (B, T) where the mask (B, T) is true; never holds all scores."""


class Projection(Output):
    """softmax(W h) over the vocabulary; W may be the embedding itself (Press & Wolf 2017).

    Label smoothing (Szegedy et al. 2016): the target is (1 - s) on the right token and s spread
    over all.
    """

    def __init__(self, weight: Tensor, smoothing: float) -> None:
        super().__init__()
        self.weight = weight
        self.smoothing = smoothing

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        return hidden @ self.weight.t()

    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        smoothing = self.smoothing if self.training else 0.0
        hidden, target = hidden[mask], target[mask]  # (N, D), (N,)
        total, likelihood = _ChunkedLoss.apply(hidden, self.weight, target, smoothing)
        return Loss(total, likelihood, len(target))


class _ChunkedLoss(torch.autograd.Function):
    """Cross-entropy over the vocabulary together with its gradient, a chunk of tokens at a time.

    The scores of a batch (tokens x vocabulary) are the largest tensor of a small model; made in
    chunks they stay in the cache, and the gradient is ready before the chunk is forgotten.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        choices = weight.shape[0]
        wanted = any(ctx.needs_input_grad)
        hidden_gradient = torch.empty_like(hidden) if wanted else None
        weight_gradient = torch.zeros_like(weight) if wanted else None
        likelihood, spread = hidden.new_zeros(()), hidden.new_zeros(())
        rows = max(1, CHUNK // choices)
        for start in range(0, len(target), rows):
            part, right = hidden[start : start + rows], target[start : start + rows, None]
            logs = torch.log_softmax(part @ weight.t(), dim=-1)  # (rows, V)
            likelihood -= logs.gather(1, right).sum()
            if smoothing:
                spread -= logs.sum() / choices
            if hidden_gradient is not None and weight_gradient is not None:
                slope = logs.exp_()
                if smoothing:
                    slope -= smoothing / choices
                slope.scatter_add_(1, right, slope.new_full((1, 1), smoothing - 1).expand_as(right))
                torch.mm(slope, weight, out=hidden_gradient[start : start + rows])
                weight_gradient.addmm_(slope.t(), part)
        if wanted:
            ctx.save_for_backward(hidden_gradient, weight_gradient)
        ctx.mark_non_differentiable(likelihood)
        return (1 - smoothing) * likelihood + smoothing * spread, likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        scale = gradients[0]
        return hidden_gradient * scale, weight_gradient * scale, None, None
