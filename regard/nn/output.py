"""From hidden vectors to choices: scores for search, the loss for training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.product import pack, times
from regard.nn.state import State

CHUNK, LEAST_ROWS = 2**20, 256
"""Scores held at a time during the loss: about what stays in a cache, but never fewer rows."""


@dataclass(frozen=True)
class Loss:
    """Of the target tokens of a batch, as a sum; whoever knows all batches of a step divides."""

    total: Tensor  # what training minimises, label smoothing included
    likelihood: Tensor  # (N,) -log p of each target token, for perplexity; no gradient

    @property
    def per_token(self) -> float:
        return float(self.likelihood.sum()) / max(len(self.likelihood), 1)


class Output(nn.Module, ABC):
    agreement: float = 0.0
    """In training, what it costs that two passes over a row differ; rows then come twice."""

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
        if self.training and self.agreement:
            total, likelihood = _AgreeingLoss.apply(
                hidden, self.rows, target, smoothing, self.agreement
            )
            return Loss(total / 2, likelihood.view(2, -1).mean(dim=0))
        total, likelihood = _ChunkedLoss.apply(hidden, self.rows, target, smoothing)
        return Loss(total, likelihood)


def set_agreement(model: nn.Module, weight: float) -> None:
    """Let every output in a model ask that two passes over a row agree."""
    for part in model.modules():
        if isinstance(part, Output):
            part.agreement = weight


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
            chances = torch.softmax(scores, dim=1, out=scores)
            normaliser[start : start + rows] = highest - chances.amax(dim=1).log()
            if wanted:
                hidden_slope[start : start + rows] = times(chances, by_column)
                weight_slope += times(part.t(), chances.t())
        weight_slope = weight_slope.t().contiguous()
        likelihood, spread = _right_tokens(
            hidden, weight, target, smoothing, normaliser, hidden_slope, weight_slope
        )
        ctx.save_for_backward(hidden_slope, weight_slope)
        ctx.mark_non_differentiable(likelihood)
        return (1 - smoothing) * likelihood.sum() + smoothing * spread, likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_slope, weight_slope = ctx.saved_tensors
        scale = gradients[0]
        return hidden_slope * scale, weight_slope * scale, None, None


class _AgreeingLoss(torch.autograd.Function):
    """The same loss, and what it costs that two passes with other dropout differ: agreement times
    KL(p | q) + KL(q | p), summed over the places.

    R-Drop (Liang et al. 2021, arXiv 2106.14448). With d = log p - log q the two divergences are
    the sums of p d and -q d, and their slope for the scores of p is p (d - KL(p | q)) + p - q;
    the p of the cross-entropy joins it as p / agreement, and agreement multiplies at the end.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        target: Tensor,
        smoothing: float,
        agreement: float,
    ) -> tuple[Tensor, Tensor]:
        """hidden (2 N, D) and target (2 N,), the second half like the first; weight (V, D)."""
        half, (choices, width) = len(target) // 2, weight.shape
        by_choice, by_column = pack(weight), pack(weight.t())
        hidden_slope, weight_slope = torch.empty_like(hidden), weight.new_zeros(width, choices)
        normaliser = torch.empty_like(hidden[:, 0])
        apart = hidden.new_zeros(())
        right = (hidden * weight[target]).sum(dim=1)
        rows = max(LEAST_ROWS, CHUNK // choices) // 2
        for start in range(0, half, rows):
            stop = min(start + rows, half)
            place = torch.cat([torch.arange(start, stop), torch.arange(start, stop) + half])
            part = hidden[place]
            logs = times(part, by_choice).log_softmax(dim=1)
            normaliser[place] = right[place] - logs.gather(1, target[place, None])[:, 0]
            p, q = logs.exp().chunk(2)
            d = torch.sub(*logs.chunk(2))
            forth, back = torch.einsum("nv,nv->n", p, d), -torch.einsum("nv,nv->n", q, d)
            apart += forth.sum() + back.sum()
            slope, constant = logs, 1 + 1 / agreement
            torch.add(d, (constant - forth)[:, None], out=slope[: len(p)]).mul_(p).sub_(q)
            torch.sub((constant - back)[:, None], d, out=slope[len(p) :]).mul_(q).sub_(p)
            hidden_slope[place] = times(slope, by_column)
            weight_slope += times(part.t(), slope.t())
        hidden_slope *= agreement
        weight_slope = weight_slope.t().contiguous() * agreement
        likelihood, spread = _right_tokens(
            hidden, weight, target, smoothing, normaliser, hidden_slope, weight_slope
        )
        ctx.save_for_backward(hidden_slope, weight_slope)
        ctx.mark_non_differentiable(likelihood)
        total = (1 - smoothing) * likelihood.sum() + smoothing * spread + agreement * apart
        return total, likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        hidden_slope, weight_slope = ctx.saved_tensors
        return hidden_slope * gradients[0], weight_slope * gradients[0], None, None, None


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
    likelihood = normaliser - (hidden * right).sum(dim=1)
    return likelihood, normaliser.sum() - total @ mean
