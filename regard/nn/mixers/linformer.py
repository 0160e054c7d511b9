"""Linformer: keys and values of a line projected to a few."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn.attention import fused, many, scale, weigh
from regard.nn.mixers.base import Cache, Mixer
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.position import Position

Sharing = Literal["none", "heads", "keys"]
"""Which heads project alike: none; all of them; all, and keys as values too."""


class Linformer(Mixer):
    """softmax(Q (E K)^T / sqrt(K)) (F V), where E and F (k, n) project the n places to k: time
    and memory k n (Wang et al. 2020, arXiv 2006.04768).

    A projection has a column for each place up to the longest line; a shorter one uses the first
    of them, and padding counts as zero. It mixes a whole line at once, so it cannot be causal. A
    probe gets weights times F: what each place's value counts for. As F has any sign these do not
    sum to one.
    """

    def __init__(
        self, heads: int, scaled: bool, places: int, length: int, sharing: Sharing
    ) -> None:
        super().__init__(Position())
        self.scaled = scaled
        self.length = length
        apart = heads if sharing == "none" else 1
        projections = 1 if sharing == "keys" else 2
        # the variance of the paper's proof, which keeps products of keys as they are on average
        drawn = torch.randn(projections, apart, places, length) * places**-0.5
        self.projections = nn.Parameter(drawn)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, places: FullSequence) -> Tensor:
        length = key.shape[2]
        if length > self.length:
            raise RegardError(
                f"A sequence of {length} pieces is longer than the {self.length} places this "
                "model can project: shorten the line or train with a larger model.max_length."
            )
        real = places.once("real", lambda: places.real[:, None, :, None].float())
        of_keys, of_values = self.projections[0, ..., :length], self.projections[-1, ..., :length]
        key, value = of_keys @ (key * real), of_values @ (value * real)  # (B, H, k, K)
        if self.probe is None and many(query):
            return fused(query, key, value, None, False, self.scaled)
        weights = weigh(scale(query, self.scaled), key, None)  # (B, H, S, k)
        if self.probe is not None:
            self.record_weights(weights @ (of_values * real.transpose(-1, -2)))
        return weights @ value

    def start(self, rows: int) -> Cache:
        raise RegardError(NOT_CAUSAL)

    def read(
        self, query: Tensor, key: Tensor, value: Tensor, memory: Cache, reading: NextTokens
    ) -> tuple[Tensor, Cache]:
        raise RegardError(NOT_CAUSAL)


NOT_CAUSAL = "A linformer mixes whole lines, and a decoder has read only a part of one."
