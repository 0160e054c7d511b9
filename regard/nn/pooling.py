"""One vector from many: the mean, the maximum, the first, or a mean that is learned."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.nn.linear import linear

PoolingKind = Literal["mean", "max", "attention", "first"]

_HIDDEN = -1e9
"""A score that gets no weight; unlike -inf it leaves a row without any position finite."""


START = 0.001
"""Scale of the first queries: so small that the weights begin nearly equal, as the plain mean's."""


class LearnedMean(nn.Module):
    """a_t = softmax(q tanh(W h_t + b)) and sum over t of a_t h_t, with a learned query q
    (Yang et al. 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key = linear(width, width)
        self.query = nn.Parameter(torch.randn(width) * START)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """x (N, T, D) where the mask (N, T) is true, to (N, D) and the weights (N, T); zeros for a
        row without any position."""
        scores = self.key(x).tanh() @ self.query
        weights = scores.masked_fill(~mask, _HIDDEN).softmax(dim=-1) * mask
        return weighted(x, weights), weights


class EvenMean(nn.Module):
    """The mean of the positions, each with the same weight."""

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        weights = mask / mask.sum(dim=1, keepdim=True).clamp(min=1)
        return weighted(x, weights), weights


def weighted(x: Tensor, weights: Tensor) -> Tensor:
    """x (N, T, D) and weights (N, T) to (N, D)."""
    return (weights[:, None] @ x)[:, 0]


def average_groups(x: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of the positions of each group: x (B, S, D) and the group (B, S) of each position,
    -1 for none, to (B, G, D) and which groups there are (B, G)."""
    count = int(group.max()) + 1 if group.numel() else 0
    member = group[:, None] == torch.arange(count, device=group.device)[:, None]  # (B, G, S)
    sizes = member.sum(dim=-1, keepdim=True)
    return (member / sizes.clamp(min=1)).to(x.dtype) @ x, sizes[:, :, 0] > 0


def maximum(x: Tensor, mask: Tensor) -> Tensor:
    """Of each column over the positions of x (B, S, D) where the mask (B, S) is true; (B, D)."""
    return x.masked_fill(~mask[:, :, None], _HIDDEN).amax(dim=1)
