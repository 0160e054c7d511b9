"""Cross-entropy over a vocabulary without ever holding all scores of a batch."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import functional

from regard.nn.fast.precision import exactly, product_type, widened
from regard.nn.fast.products import pack, times

CHUNK_SCORES, CHUNK_MIN_ROWS = 2**20, 256
"""Scores held at a time: about what stays in a cache, but never fewer rows."""


def plain_loss(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    bias: Optional[Tensor] = None,
) -> tuple[Tensor, Tensor]:
    """hidden (N, D), weight (V, D), target (N,) and a bias (V,) to the smoothed loss, summed, and
    -log p of each target (N,), which has no gradient."""
    scores = functional.linear(hidden, weight, bias)
    total = functional.cross_entropy(scores, target, label_smoothing=smoothing, reduction="sum")
    return total, functional.cross_entropy(scores.detach(), target, reduction="none")


def chunked_loss(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    bias: Optional[Tensor] = None,
) -> tuple[Tensor, Tensor]:
    """The same, a chunk of tokens at a time. In mixed precision the products are rounded, and
    everything else is in float32."""
    kind = product_type(hidden)
    with exactly(hidden):
        total, nll = _ChunkedLoss.apply(widened(hidden), weight, bias, target, smoothing, kind)
    return total, nll


class _ChunkedLoss(torch.autograd.Function):
    """Cross-entropy together with its gradient.

    The scores of a batch (tokens x vocabulary) are the largest tensor of a small model; made in
    chunks they stay in the cache, and the gradient is ready before the chunk is dropped. Each
    chunk is read as few times as possible: the target tokens and the smoothing are added where
    only (tokens x width) or (vocabulary x width) is touched.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Optional[Tensor],
        target: Tensor,
        smoothing: float,
        kind: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        """hidden (N, D), weight (V, D), bias (V,), target (N,); products are of this kind."""
        choices, width = weight.shape
        wanted = any(ctx.needs_input_grad)
        by_choice, by_column = pack(weight.to(kind)), pack(weight.t().to(kind))
        hidden_grad, weight_grad = torch.empty_like(hidden), weight.new_zeros(width, choices)
        bias_grad = None if bias is None else torch.zeros_like(bias)
        normaliser = hidden.new_empty(len(target))  # log of the sum of exponentials
        rows = max(CHUNK_MIN_ROWS, CHUNK_SCORES // choices)
        for start in range(0, len(target), rows):
            part = hidden[start : start + rows].to(kind)
            scores = widened(times(part, by_choice))
            if bias is not None:
                scores += bias
            highest = scores.amax(dim=1)
            probabilities = torch.softmax(scores, dim=1, out=scores)
            normaliser[start : start + rows] = highest - probabilities.amax(dim=1).log()
            if wanted:
                rounded = probabilities.to(kind)
                hidden_grad[start : start + rows] = times(rounded, by_column)
                weight_grad += times(part.t(), rounded.t())
                if bias_grad is not None:
                    bias_grad += probabilities.sum(dim=0)
        weight_grad = weight_grad.t().contiguous()
        nll, spread = _add_targets(
            hidden, weight, target, smoothing, normaliser, hidden_grad, weight_grad
        )
        if bias is not None and bias_grad is not None:
            nll -= bias[target]
            spread -= len(target) * bias.mean()
            bias_grad.index_add_(0, target, torch.ones_like(normaliser), alpha=smoothing - 1)
            bias_grad -= smoothing / choices * len(target)
        ctx.save_for_backward(hidden_grad, weight_grad, bias_grad)
        ctx.mark_non_differentiable(nll)
        return (1 - smoothing) * nll.sum() + smoothing * spread, nll

    @staticmethod
    def backward(
        ctx: Any, *gradients: Tensor
    ) -> tuple[Tensor, Tensor, Optional[Tensor], None, None, None]:
        hidden_grad, weight_grad, bias_grad = ctx.saved_tensors
        scale = gradients[0]
        bias_grad = None if bias_grad is None else bias_grad * scale
        return hidden_grad * scale, weight_grad * scale, bias_grad, None, None, None


def _add_targets(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    normaliser: Tensor,
    hidden_grad: Tensor,
    weight_grad: Tensor,
) -> tuple[Tensor, Tensor]:
    """Add the target tokens and the smoothing to the gradients of the summed normaliser (N,).

    Returns -log p of the target tokens (N,), and the sum of its mean over all choices.
    """
    right, mean, total = weight[target], weight.mean(dim=0), hidden.sum(dim=0)
    hidden_grad -= (1 - smoothing) * right + smoothing * mean
    weight_grad.index_add_(0, target, hidden, alpha=smoothing - 1)
    weight_grad -= smoothing / len(weight) * total
    nll = normaliser - (hidden * right).sum(dim=1)
    return nll, normaliser.sum() - total @ mean
