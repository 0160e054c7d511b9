"""How well each source position matches a decoder's query, and the mean that follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor, nn

from regard.nn.attention import additive_mask
from regard.nn.linear import linear
from regard.nn.probe import Watched

ScoreKind = Literal["dot", "multiplicative", "additive"]

Prepared = tuple[Tensor, Tensor, Tensor]
"""What attention makes of the source once: keys (B, S, D), values (B, S, D), and the mask (B, S)
added to scores to hide padding."""


class AttentionScore(nn.Module, ABC):
    """e_j of a query s and a position h_j. What depends on the source only are keys, made once."""

    @abstractmethod
    def prepare(self, source: Tensor) -> Tensor:
        """The keys (B, S, D) of the source (B, S, D)."""

    @abstractmethod
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """query (B, N, D) and keys (B, S, D) to scores (B, N, S)."""


class Dot(AttentionScore):
    """e_j = s^T h_j (Luong et al. 2015, arXiv 1508.04025)."""

    def prepare(self, source: Tensor) -> Tensor:
        return source

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(1, 2)


class Multiplicative(AttentionScore):
    """e_j = s^T W h_j, "general" in Luong et al. 2015, arXiv 1508.04025."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, width)))

    def prepare(self, source: Tensor) -> Tensor:
        return source @ self.weight.t()

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(1, 2)


class Additive(AttentionScore):
    """e_j = v^T tanh(W1 h_j + W2 s + b) (Bahdanau et al. 2014, arXiv 1409.0473)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_source = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, width)))
        self.of_query = linear(width, width)
        self.sum = nn.Parameter(nn.init.normal_(torch.empty(width), std=width**-0.5))

    def prepare(self, source: Tensor) -> Tensor:
        return source @ self.of_source.t()

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        energy = keys[:, None] + self.of_query(query)[:, :, None]  # (B, N, S, D)
        return energy.tanh_() @ self.sum


def build_score(kind: ScoreKind, width: int) -> AttentionScore:
    if kind == "dot":
        return Dot()
    return Multiplicative(width) if kind == "multiplicative" else Additive(width)


class SourceAttention(Watched):
    """a = softmax(e), c = sum_j a_j h_j, with the e of any score."""

    def __init__(self, score: AttentionScore) -> None:
        super().__init__(("target", "source"))
        self.score = score

    def prepare(self, source: Tensor, mask: Tensor) -> Prepared:
        """source (B, S, D), mask (B, S) of its real positions."""
        return self.score.prepare(source), source, additive_mask(~mask)

    def forward(self, query: Tensor, prepared: Prepared) -> Tensor:
        """query (B x copies, T, D) to c of the same shape."""
        keys, source, hidden = prepared
        asked = query.reshape(len(source), -1, query.shape[-1])  # (B, copies x T, D)
        weights = (self.score(asked, keys) + hidden[:, None]).softmax(dim=-1)
        self.record_weights(weights.reshape(*query.shape[:2], -1)[:, None])
        return (weights @ source).reshape(query.shape)

    def join(self, steps: int) -> None:
        """Tell the probe that the last `steps` calls were one pass."""
        if self.probe is not None:
            self.probe[-steps:] = [torch.cat(self.probe[-steps:], dim=2)]
