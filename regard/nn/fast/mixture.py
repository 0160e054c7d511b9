"""The loss of generating or copying, without ever holding all scores of a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.fast.loss import CHUNK_MIN_ROWS, CHUNK_SCORES
from regard.nn.fast.precision import exactly, product_type, widened
from regard.nn.fast.products import pack, times


def plain_mixture_loss(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    generate: Tensor,
    copied: Tensor,
) -> tuple[Tensor, Tensor]:
    """The loss of p = exp(generate) softmax(W h) + exp(copied), of the target tokens.

    hidden (N, D), weight (V, D), target (N,); `generate` (N,) is the log of the gate, and `copied`
    (N,) the log of the probability that the target is written as a copy. Label smoothing is that
    of softmax(W h) alone. Returns the smoothed loss, summed, and -log p of each target (N,), which
    has no gradient.
    """
    logs = (hidden @ weight.t()).log_softmax(dim=1)
    right = logs.gather(1, target[:, None])[:, 0]
    nll = -torch.logaddexp(generate + right, copied)
    total = (1 - smoothing) * nll.sum() - smoothing * logs.mean(dim=1).sum()
    return total, nll.detach()


def chunked_mixture_loss(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    smoothing: float,
    generate: Tensor,
    copied: Tensor,
) -> tuple[Tensor, Tensor]:
    """The same, a chunk of tokens at a time; in mixed precision as `chunked_loss`."""
    kind = product_type(hidden)
    with exactly(hidden):
        total, nll = _ChunkedMixture.apply(
            *(widened(hidden), weight, target, smoothing),
            *(widened(generate), widened(copied), kind),
        )
    return total, nll


class _ChunkedMixture(torch.autograd.Function):
    """The loss together with its gradient: `_ChunkedLoss`, where each row of scores has the weight
    of the generator in the probability of its target, exp(generate) softmax(W h)_y / p."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        target: Tensor,
        smoothing: float,
        generate: Tensor,
        copied: Tensor,
        kind: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        """hidden (N, D), weight (V, D), target, generate and copied (N,); products are of this
        kind."""
        choices, width = weight.shape
        by_choice, by_column = pack(weight.to(kind)), pack(weight.t().to(kind))
        hidden_grad, weight_grad = torch.empty_like(hidden), weight.new_zeros(width, choices)
        nll, share = torch.empty_like(copied), torch.empty_like(copied)
        spread = nll.new_zeros(())  # -log softmax(W h), its mean over the choices, summed
        rows = max(CHUNK_MIN_ROWS, CHUNK_SCORES // choices)
        for start in range(0, len(target), rows):
            chunk = slice(start, start + rows)
            part, right = hidden[chunk].to(kind), target[chunk, None]
            logs = widened(times(part, by_choice)).log_softmax(dim=1)
            spread -= logs.sum() / choices
            generated = generate[chunk] + logs.gather(1, right)[:, 0]
            nll[chunk] = -torch.logaddexp(generated, copied[chunk])
            share[chunk] = (generated + nll[chunk]).exp()
            if ctx.needs_input_grad[0] or ctx.needs_input_grad[1]:
                known = (1 - smoothing) * share[chunk, None]
                grad = logs.exp_().mul_(known + smoothing).sub_(smoothing / choices)
                grad.scatter_add_(1, right, -known)
                rounded = grad.to(kind)
                hidden_grad[chunk] = times(rounded, by_column)
                weight_grad += times(part.t(), rounded.t())
        ctx.smoothing = smoothing
        ctx.save_for_backward(hidden_grad, weight_grad.t().contiguous(), share)
        ctx.mark_non_differentiable(nll)
        return (1 - smoothing) * nll.sum() + smoothing * spread, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        hidden_grad, weight_grad, share = ctx.saved_tensors
        scale = gradients[0]
        known = scale * (ctx.smoothing - 1)
        return (
            hidden_grad * scale,
            weight_grad * scale,
            None,
            None,
            known * share,
            known * (1 - share),
            None,
        )
