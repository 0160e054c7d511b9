"""Dropout, and how to change its probability during training."""

from __future__ import annotations

from torch import Tensor, nn

from regard.nn.fast.dropout import add_dropped, drop, drop_vectors


class Dropout(nn.Module):
    """Srivastava et al. 2014, with the probability rounded to a multiple of 1/256 below one.

    The scale uses the rounded probability, so the expectation is exact.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.full_threshold = self.threshold = min(255, round(probability * 256))

    @property
    def active(self) -> bool:
        return self.training and self.threshold > 0

    def forward(self, x: Tensor) -> Tensor:
        return drop(x, self.threshold) if self.active else x

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + dropout(y), as at the end of every sub-layer."""
        return add_dropped(x, y, self.threshold) if self.active else x + y

    def vectors(self, x: Tensor) -> Tensor:
        """x (B, T, D) with whole vectors dropped."""
        return drop_vectors(x, self.threshold) if self.active else x


def set_dropout(model: nn.Module, share: float) -> None:
    """Let every dropout in a model work with this share of its probability."""
    for part in model.modules():
        if isinstance(part, Dropout):
            part.threshold = round(part.full_threshold * share)
