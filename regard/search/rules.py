"""What every search shares: its step function, its result, its limits and what it may not say."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import torch
from pydantic import Field
from torch import Tensor

from regard.config import Settings
from regard.data.batch import BOS, PAD, UNKNOWN, Padded
from regard.nn.state import State

Step = Callable[[Tensor, State], tuple[Tensor, State]]
"""Reads tokens (R, T), gives the scores (R, V) of what follows the last of them."""


@dataclass(frozen=True)
class Hypothesis:
    """One finished target, without its EOS."""

    tokens: tuple[int, ...]
    score: float  # what ranked it
    log_probability: float


class Search(Settings, ABC):
    """A way to find targets; its settings are the whole of it."""

    longest_ratio: float = Field(default=2.0, gt=0)
    longest_extra: int = Field(default=20, ge=1)

    def limits(self, lengths: Tensor) -> Tensor:
        """The most tokens, EOS included, for sources of these lengths (B,)."""
        return (lengths * self.longest_ratio).long() + self.longest_extra

    @abstractmethod
    def find(
        self, step: Step, state: State, limits: Tensor, prefix: Optional[Padded] = None
    ) -> list[list[Hypothesis]]:
        """The best targets of each sentence, best first; all of them begin with its prefix."""


def log_probabilities(scores: Tensor) -> Tensor:
    """Normalised scores (R, V), with what no target may contain ruled out."""
    logs = torch.log_softmax(scores, dim=-1)
    logs[:, [PAD, BOS, UNKNOWN]] = -math.inf
    return logs


def force(logs: Tensor, prefix: Padded, place: int) -> Tensor:
    """Only the prefix's token is left where a sentence's prefix reaches as far as `place`.

    logs (B x copies, V), prefix of B rows.
    """
    forced = (prefix.lengths > place).repeat_interleave(len(logs) // len(prefix.lengths))
    if not bool(forced.any()):
        return logs
    tokens = prefix.values[:, place : place + 1].repeat_interleave(
        len(logs) // len(prefix.lengths), dim=0
    )
    only = torch.full_like(logs, -math.inf).scatter(1, tokens, logs.gather(1, tokens))
    return torch.where(forced[:, None], only, logs)
