"""What every search shares: its step function, its result, its limits and what it may not say."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

from pydantic import Field
from torch import Tensor

from regard.config import Settings
from regard.data.batch import BOS, UNKNOWN, Padded
from regard.nn.state import State

Step = Callable[[Tensor, State], tuple[Tensor, State]]
"""Reads tokens (R, T), gives the scores (R, V) of what follows the last of them."""

Observer = Callable[[Tensor, Tensor], None]
"""Is told after each step which hypotheses go on: their tokens (B, copies, 1 + length), BOS first,
and the log-probability of each so far (B, copies)."""


@dataclass(frozen=True)
class Hypothesis:
    """One finished target, without its EOS."""

    tokens: tuple[int, ...]
    score: float  # what ranked it
    log_probability: float


class Search(Settings, ABC):
    """A way to find targets; its settings are the whole of it."""

    max_length_ratio: float = Field(default=2.0, gt=0, le=1000)
    max_length_extra: int = Field(default=20, ge=1, le=1_000_000)

    def limits(self, lengths: Tensor) -> Tensor:
        """The most tokens, EOS included, for sources of these lengths (B,)."""
        return (lengths * self.max_length_ratio).long() + self.max_length_extra

    @abstractmethod
    def find(
        self, step: Step, state: State, limits: Tensor, prefix: Optional[Padded] = None
    ) -> list[list[Hypothesis]]:
        """The best targets of each sentence, best first; all of them begin with its prefix."""

    def observed(self, observer: Observer) -> Search:
        """The same search, giving all it finishes and telling an observer, if it has steps to tell
        of."""
        return self


def rule_out(scores: Tensor, only: Optional[Tensor]) -> None:
    """Write -inf into scores (R, V) for what no target may contain, and for all but the token of
    `only` (R,) where that is not -1."""
    if only is None:
        _never(scores)
        return
    rows = (only >= 0).nonzero()[:, 0]
    kept = scores[rows, only[rows]]
    _never(scores)
    scores[rows] = -math.inf
    scores[rows, only[rows]] = kept


def _never(scores: Tensor) -> None:
    scores[:, : BOS + 1] = -math.inf  # PAD is before it; faster than by a list of columns
    scores[:, UNKNOWN] = -math.inf


def begun_with(prefix: Optional[Padded], place: int, copies: int) -> Optional[Tensor]:
    """The token (B x copies,) that the prefix of each sentence has at a place, -1 after its end;
    None where no prefix reaches that far."""
    if prefix is None or place >= prefix.values.shape[1]:
        return None
    tokens = prefix.values[:, place].masked_fill(prefix.lengths <= place, -1)
    return tokens.repeat_interleave(copies)
