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

    def observed(self, observer: Observer) -> Search:
        """The same search, giving all it finishes and telling an observer, if it has steps to tell
        of."""
        return self


def normaliser(scores: Tensor) -> Tensor:
    """log of the sum of exponentials of each row (R, V): what makes scores log-probabilities.

    A few rows at a time, so that the exponentials never leave the cache.
    """
    rows = max(1, CHUNK // scores.shape[1])
    return torch.cat([part.logsumexp(dim=1) for part in scores.split(rows)])


def rule_out(scores: Tensor, prefix: Optional[Padded], place: int) -> Tensor:
    """Scores (B x copies, V), now -inf for what no target may contain.

    Where the prefix of a sentence reaches as far as `place`, only its token is left.
    """
    only = None if prefix is None else _forced(scores, prefix, place)
    for column in (PAD, BOS, UNKNOWN):
        scores[:, column] = -math.inf
    return scores if only is None else torch.where(only[0][:, None], only[1], scores)


def _forced(scores: Tensor, prefix: Padded, place: int) -> Optional[tuple[Tensor, Tensor]]:
    """Which rows are still within their prefix, and their scores with nothing else left."""
    copies = len(scores) // len(prefix.lengths)
    forced = (prefix.lengths > place).repeat_interleave(copies)
    if not bool(forced.any()):
        return None
    tokens = prefix.values[:, place : place + 1].repeat_interleave(copies, dim=0)
    return forced, torch.full_like(scores, -math.inf).scatter(1, tokens, scores.gather(1, tokens))


CHUNK = 2**17
"""Scores whose exponentials are held at a time."""

BLOCK = 64


def best_tokens(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest scores of each row (R, V), highest first, and where they stand.

    Looking for the best blocks by their maxima first is several times cheaper than sorting
    through the whole vocabulary; the best tokens can only be in the best blocks.
    """
    rows, choices = scores.shape
    blocks = choices // BLOCK
    if blocks < 4 * count:
        values, places = scores.topk(min(count, choices), dim=1)
        return values, places
    whole = scores[:, : blocks * BLOCK].view(rows, blocks, BLOCK)
    best = whole.amax(dim=2).topk(count, dim=1).indices  # (R, count)
    inside = whole.gather(1, best[:, :, None].expand(-1, -1, BLOCK)).flatten(1)
    rest = scores[:, blocks * BLOCK :]
    values, found = torch.cat([inside, rest], dim=1).topk(count, dim=1)
    block = best.gather(1, (found // BLOCK).clamp(max=count - 1))
    places = torch.where(
        found < count * BLOCK, block * BLOCK + found % BLOCK, found + (blocks - count) * BLOCK
    )
    return values, places
