"""Linformer: keys and values of a line projected to a few."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.attention import attend
from regard.nn.mixers.base import Cache, Looks, Mixer
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.position import Position

Sharing = Literal["none", "heads", "keys"]
"""What shares a projection: nothing; all heads; all heads, and keys with values."""


class Linformer(Mixer):
    """softmax(Q (E K)^T / sqrt(K)) (F V), where E and F (k, n) project the n positions to k: time
    and memory k n (Wang et al. 2020, arXiv 2006.04768).

    A projection has a column per position up to the longest line; a shorter line uses the first
    of them, and padding counts as zero. It mixes a whole line at once, so it cannot be causal. A
    probe gets weights times F: what each position's value counts for. As F has any sign these do
    not sum to one.
    """

    normalised = False

    def __init__(
        self, heads: int, looks: Looks, scaled: bool, projected: int, length: int, sharing: Sharing
    ) -> None:
        super().__init__(Position(), looks, scaled)
        self.length = length
        separate = heads if sharing == "none" else 1
        projections = 1 if sharing == "keys" else 2
        # the variance of the paper's proof, which keeps products of keys as they are on average
        drawn = torch.randn(projections, separate, projected, length) * projected**-0.5
        self.projections = nn.Parameter(drawn)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, sequence: FullSequence) -> Tensor:
        length = key.shape[2]
        if length > self.length:
            raise RegardError(
                f"A sequence of {length} pieces is longer than the {self.length} positions this "
                "model can project: shorten the line or train with a larger model.max_length."
            )
        real = sequence.once("real", lambda: sequence.real[:, None, :, None].to(key.dtype))
        of_keys, of_values = self.projections[0, ..., :length], self.projections[-1, ..., :length]
        key, value = of_keys @ (key * real), of_values @ (value * real)  # (B, H, k, K)
        explicit = self.needs_weights(query)
        mixed, weights = attend(query, key, value, None, self.scaled, explicit)
        if self.probe is not None and weights is not None:  # (B, H, S, k)
            self.record_weights(weights @ (of_values * real.transpose(-1, -2)))
        return mixed

    def start(self, like: Tensor) -> Cache:
        raise RegardError(NOT_CAUSAL)

    def read(
        self, query: Tensor, key: Tensor, value: Tensor, cache: Cache, tokens: NextTokens
    ) -> tuple[Tensor, Cache]:
        raise RegardError(NOT_CAUSAL)


NOT_CAUSAL = "A linformer mixes whole lines, and a decoder has read only a part of one."
