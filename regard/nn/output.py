"""From hidden vectors to choices: scores for search, the loss for training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.nn.fast.products import pack, times
from regard.nn.state import Encoded, Nested, State

CHUNK, LEAST_ROWS = 2**20, 256
"""Scores held at a time during the loss: about what stays in a cache, but never fewer rows."""


@dataclass(frozen=True)
class Loss:
    """Of the target tokens of a batch, as a sum; whoever knows all batches of a step divides."""

    total: Tensor  # what training minimises, label smoothing included
    nll: Tensor  # (N,) -log p of each target token, for perplexity; no gradient

    @property
    def per_token(self) -> float:
        return float(self.nll.sum()) / max(len(self.nll), 1)


class Output(nn.Module, ABC):
    def prepare(self, encoded: Encoded, source: Padded) -> Nested:
        """What it keeps of the source, B rows; `scores` and `loss` find it in State.candidates."""
        return ()

    @abstractmethod
    def scores(self, hidden: Tensor, state: State) -> Tensor:
        """hidden (B, T, D) to (B, T, V): log-probabilities up to a constant for each place."""

    @abstractmethod
    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        """The loss of target (B, T) where the mask (B, T) is true; never holds all scores."""

    @abstractmethod
    def narrow(self, choices: Tensor) -> Output:
        """The same with these ids (N,) as its only choices, numbered anew."""


class Projection(Output):
    """softmax(W h) over the vocabulary; W may be the embedding itself (Press & Wolf 2017).

    It is the first `size` rows of the weight: a matrix that is the source's embedding too has
    others, of tokens that are never a target. Label smoothing (Szegedy et al. 2016): the target is
    (1 - s) on the right token and s spread over all.
    """

    def __init__(self, weight: Tensor, smoothing: float, size: int) -> None:
        super().__init__()
        self.weight = weight
        self.smoothing = smoothing
        self.size = size

    @property
    def rows(self) -> Tensor:
        """(V, D): one for each choice."""
        return self.weight[: self.size]

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        return hidden @ self.rows.t()

    def narrow(self, choices: Tensor) -> Projection:
        return Projection(self.weight.t()[:, choices].t(), self.smoothing, len(choices))

    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        smoothing = self.smoothing if self.training else 0.0
        hidden, target = hidden[mask], target[mask]  # (N, D), (N,)
        total, nll = _ChunkedLoss.apply(hidden, self.rows, target, smoothing)
        return Loss(total, nll)


class _ChunkedLoss(torch.autograd.Function):
    """Cross-entropy over the vocabulary together with its gradient, a chunk of tokens at a time.

    The scores of a batch (tokens x vocabulary) are the largest tensor of a small model; made in
    chunks they stay in the cache, and the gradient is ready before the chunk is forgotten. Each
    chunk is passed over as rarely as can be: the right tokens and the smoothing are put in where
    only (tokens x width) or (vocabulary x width) is touched.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """hidden (N, D), weight (V, D), target (N,)."""
        choices, width = weight.shape
        wanted = any(ctx.needs_input_grad)
        by_choice, by_column = pack(weight), pack(weight.t())
        hidden_slope, weight_slope = torch.empty_like(hidden), weight.new_zeros(width, choices)
        normaliser = hidden.new_empty(len(target))  # log of the sum of exponentials
        rows = max(LEAST_ROWS, CHUNK // choices)
        for start in range(0, len(target), rows):
            part = hidden[start : start + rows]
            scores = times(part, by_choice)
            highest = scores.amax(dim=1)
            probabilities = torch.softmax(scores, dim=1, out=scores)
            normaliser[start : start + rows] = highest - probabilities.amax(dim=1).log()
            if wanted:
                hidden_slope[start : start + rows] = times(probabilities, by_column)
                weight_slope += times(part.t(), probabilities.t())
        weight_slope = weight_slope.t().contiguous()
        nll, spread = _right_tokens(
            hidden, weight, target, smoothing, normaliser, hidden_slope, weight_slope
        )
        ctx.save_for_backward(hidden_slope, weight_slope)
        ctx.mark_non_differentiable(nll)
        return (1 - smoothing) * nll.sum() + smoothing * spread, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_slope, weight_slope = ctx.saved_tensors
        scale = gradients[0]
        return hidden_slope * scale, weight_slope * scale, None, None


def _right_tokens(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    normaliser: Tensor,
    hidden_slope: Tensor,
    weight_slope: Tensor,
) -> tuple[Tensor, Tensor]:
    """Put the right tokens and the smoothing into the slopes of the normaliser's sum (N,).

    Gives -log p of the right tokens (N,), and the sum of its mean over all choices.
    """
    right, mean, total = weight[target], weight.mean(dim=0), hidden.sum(dim=0)
    hidden_slope -= (1 - smoothing) * right + smoothing * mean
    weight_slope.index_add_(0, target, hidden, alpha=smoothing - 1)
    weight_slope -= smoothing / len(weight) * total
    nll = normaliser - (hidden * right).sum(dim=1)
    return nll, normaliser.sum() - total @ mean
