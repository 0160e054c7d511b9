"""Normalisation: vectors brought to one scale, so that deep stacks train."""

from __future__ import annotations

from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from regard.nn.fast.precision import widened

Normalisation = Literal["layer", "batch", "none"]

MOMENTUM = 0.1
"""How much of the running statistics a batch replaces."""


class Real(Protocol):
    """Something that knows which positions are not padding."""

    @property
    def real(self) -> Tensor: ...


class LayerNorm(nn.LayerNorm):
    """(x - mean) / deviation * w + b over the columns of each position separately (Ba et al. 2016,
    arXiv 1607.06450)."""

    def forward(self, input: Tensor, positions: object = None) -> Tensor:
        return super().forward(widened(input))


class BatchNorm(nn.Module):
    """(x - mean) / deviation * w + b, each column over all real positions of a batch (Ioffe &
    Szegedy 2015, arXiv 1502.03167).

    Outside training it uses running means, so that a row does not depend on the others. With
    several training processes each has the statistics of its own rows, and those of the first are
    kept. In a decoder the statistics of training include later positions.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))
        self.mean: Tensor
        self.variance: Tensor

    def forward(self, x: Tensor, positions: Real) -> Tensor:
        """x (B, T, D)."""
        x = widened(x)
        mean, variance = (
            self._of(x, positions.real) if self.training else (self.mean, self.variance)
        )
        return (x - mean) * (variance + 1e-5).rsqrt() * self.weight + self.bias

    def _of(self, x: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        real = real[:, :, None].to(x.dtype)
        count = real.sum().clamp(min=1)
        mean = (x * real).sum(dim=(0, 1)) / count  # (D,)
        variance = ((x - mean).square() * real).sum(dim=(0, 1)) / count
        self._remember(mean.detach(), variance.detach())
        return mean, variance

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        if bool((mean + variance).isfinite().all()):
            self.mean.lerp_(mean, MOMENTUM)
            self.variance.lerp_(variance, MOMENTUM)


class NoNorm(nn.Module):
    """Vectors as they are."""

    def forward(self, x: Tensor, positions: object = None) -> Tensor:
        return x


def build_norm(kind: Normalisation, width: int) -> nn.Module:
    match kind:
        case "layer":
            return LayerNorm(width)
        case "batch":
            return BatchNorm(width)
        case "none":
            return NoNorm()
