"""What every search shares: its step function, its result, its limits and the tokens it forbids."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Optional

from pydantic import Field
from torch import Tensor

from regard.config import Settings
from regard.data.batch import BOS, EOS, UNKNOWN, Padded
from regard.nn.state import State

Step = Callable[[Tensor, State], tuple[Tensor, State]]
"""Reads tokens (R, T) and gives the scores (R, V) of what follows the last of them."""

Observer = Callable[[Tensor, Tensor], None]
"""Called after each step with the live hypotheses: their tokens (B, copies, 1 + length), BOS first,
and the log-probability of each so far (B, copies)."""


Visits = Literal["any", "once", "all"]
"""How often a target may contain each index: any number of times, at most once, or exactly once."""


@dataclass(frozen=True)
class Hypothesis:
    """One finished target, without its EOS."""

    tokens: tuple[int, ...]
    score: float  # what ranked it
    log_probability: float


class Search(Settings, ABC):
    """A way to find targets, described completely by its settings."""

    draws: ClassVar[bool] = False
    """Whether it draws at random, so that its result depends on how lines are batched."""

    best: int = Field(default=1, le=1_024, ge=1, description="Size of the n-best list.")
    max_length_ratio: float = Field(
        default=2.0, gt=0, le=1000, description="Maximum number of target pieces per source piece."
    )
    max_length_extra: int = Field(
        default=20,
        ge=1,
        le=1_000_000,
        description="Target pieces allowed on top of that; the end counts as one.",
    )

    visits: Visits = Field(
        default="any",
        description="For models that write indices: each any number of times, at most once, or all "
        "of them once.",
    )

    def limits(self, lengths: Tensor) -> Tensor:
        """The most tokens, EOS included, for sources of these lengths (B,)."""
        return (lengths * self.max_length_ratio).long() + self.max_length_extra

    @abstractmethod
    def find(
        self, step: Step, state: State, limits: Tensor, prefix: Optional[Padded] = None
    ) -> list[list[Hypothesis]]:
        """The best targets of each sentence, best first, each starting with the given prefix."""

    @abstractmethod
    def quick(self) -> Search:
        """The fastest search of this kind, with one target per sentence. Its hypotheses may come
        without probabilities."""

    @property
    def gives_probabilities(self) -> bool:
        """Whether its hypotheses come with probabilities."""
        return True

    @property
    def length_exponent(self) -> float:
        """Hypotheses are ranked by log p / length^this."""
        return 1.0

    @property
    @abstractmethod
    def candidates(self) -> int:
        """How many targets it considers per sentence at the end."""

    @abstractmethod
    def all_found(self) -> Search:
        """The same search, returning every candidate."""

    def seeded(self, number: int) -> Search:
        """The same search for one group of lines: a search that draws gets a seed of its own."""
        return self

    def observed(self, observer: Observer) -> Search:
        """The same search, returning all it finishes; a search that has steps reports them."""
        return self


def rule_out(
    scores: Tensor, forced: Optional[Tensor], written: Tensor, visits: Visits = "any"
) -> None:
    """Write -inf into scores (R, V) for the tokens that no target contains, for those that may not
    follow what was written (R, length) and, in rows whose token is forced (R,), for all others;
    -1 forces none."""
    if forced is None:
        _rule_out(scores, written, visits)
        return
    rows = (forced >= 0).nonzero()[:, 0]
    kept = scores[rows, forced[rows]]
    _rule_out(scores, written, visits)
    scores[rows] = -math.inf
    scores[rows, forced[rows]] = kept


def _rule_out(scores: Tensor, written: Tensor, visits: Visits) -> None:
    scores[:, : BOS + 1] = -math.inf  # PAD comes before BOS; faster than a list of columns
    scores[:, UNKNOWN] = -math.inf
    if visits != "any":
        indices = written.masked_fill(written == EOS, BOS)  # a target that has ended stays so
        scores.scatter_(1, indices, -math.inf)
    if visits == "all":  # what is not a source word has no probability to begin with
        remaining = (scores[:, UNKNOWN + 1 :] > -math.inf).any(dim=1)
        scores[:, EOS].masked_fill_(remaining, -math.inf)


def forced_tokens(prefix: Optional[Padded], position: int, copies: int) -> Optional[Tensor]:
    """The token (B x copies,) that the prefix of each sentence has at a position, -1 after its
    end; None if no prefix is that long."""
    if prefix is None or position >= prefix.values.shape[1]:
        return None
    tokens = prefix.values[:, position].masked_fill(prefix.lengths <= position, -1)
    return tokens.repeat_interleave(copies)
