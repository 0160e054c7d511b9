"""An output that chooses positions of the source (Vinyals et al. 2015, arXiv 1506.03134)."""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional

from regard.data.batch import EOS, UNKNOWN, Padded
from regard.nn.attention import additive_mask
from regard.nn.output import Loss, Output
from regard.nn.probe import Watched
from regard.nn.scores import AttentionScore
from regard.nn.state import Encoded, State


class Positions(NamedTuple):
    """What pointing keeps of the source, B rows."""

    keys: Tensor  # (B, S, D) of the attention score
    hidden: Tensor  # (B, S), added to scores to hide padding
    end: Tensor  # (B,) the position of EOS


class Pointer(Watched):
    """u_j of a hidden vector and each source position: attention before its softmax."""

    def __init__(self, score: AttentionScore) -> None:
        super().__init__(("target", "source"))
        self.score = score

    def forward(self, hidden: Tensor, positions: Positions) -> Tensor:
        """hidden (B x copies, T, D) to (B x copies, T, S), -inf at padding."""
        asked = hidden.reshape(len(positions.keys), -1, hidden.shape[-1])  # (B, copies x T, D)
        scores = self.score(asked, positions.keys) + positions.hidden[:, None]
        scores = scores.reshape(*hidden.shape[:2], -1)
        if self.probe is not None:
            self.record_weights(scores.softmax(dim=-1)[:, None])
        return scores


class Pointing(Output):
    """p(y_t = j) = softmax over j of u_j: the attention over the source is the distribution.

    Source word k, counted from 1, is the choice 3 + k, and EOS is the position of the source's own
    EOS, so there are as many choices as the longest source of a batch needs.
    """

    def __init__(self, score: AttentionScore) -> None:
        super().__init__()
        self.pointer = Pointer(score)

    def prepare(self, encoded: Encoded, source: Padded) -> Positions:
        keys = self.pointer.score.prepare(encoded.output)
        return Positions(keys, additive_mask(~encoded.mask), source.lengths - 1)

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        positions = cast(Positions, state.candidates)
        scores: Tensor = self.pointer(hidden, positions)  # (R, T, S)
        end = positions.end.repeat_interleave(state.copies)[:, None, None]
        ending = scores.gather(2, end.expand(-1, scores.shape[1], -1))  # (R, T, 1)
        words = scores.scatter(2, end.expand_as(ending), -math.inf)[:, :, :-1]
        reserved = torch.full_like(ending, -math.inf)
        columns = [reserved] * (UNKNOWN + 1)
        columns[EOS] = ending
        return torch.cat([*columns, words], dim=2)

    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        logs = self.scores(hidden, state)[mask]  # (N, V)
        nll = functional.cross_entropy(logs, target[mask], reduction="none")
        return Loss(nll.sum(), nll.detach(), len(nll))
