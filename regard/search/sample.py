"""Sampling: draw targets from the model instead of searching for the best."""

from __future__ import annotations

import math
from random import Random
from typing import ClassVar, Optional

import torch
from pydantic import Field
from torch import Tensor

from regard.config import MAX_COUNT
from regard.data.batch import BOS, EOS, Padded
from regard.nn.state import State
from regard.search.base import Hypothesis, Search, Step, forced_tokens, rule_out


class Sample(Search):
    """Draws `best` targets per sentence, each token from the distribution at this temperature,
    truncated to its `top_k` and `top_p`."""

    draws: ClassVar[bool] = True

    best: int = Field(default=1, ge=1, le=1024, description="Targets drawn per sentence.")
    temperature: float = Field(
        default=1.0,
        ge=1e-3,
        le=1e3,
        description="Above 1 flattens the distribution, below 1 sharpens it.",
    )
    top_k: int = Field(
        default=0, le=MAX_COUNT, ge=0, description="Sample from the k most probable tokens; 0: all."
    )
    top_p: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Sample from the smallest set of tokens with this probability.",
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="Seed of the draws.")

    @torch.inference_mode()
    def find(
        self, step: Step, state: State, limits: Tensor, prefix: Optional[Padded] = None
    ) -> list[list[Hypothesis]]:
        if self.best > 1:
            state = state.spread(self.best)
        limits = limits.repeat_interleave(self.best)
        generator = torch.Generator().manual_seed(self.seed)
        tokens = torch.full_like(limits, BOS)[:, None]
        totals = torch.zeros(len(limits), device=limits.device)
        ended = torch.zeros_like(limits, dtype=torch.bool)
        while not bool(ended.all()):
            length = tokens.shape[1]
            scores, state = step(tokens[:, -1:], state)
            logs = scores.log_softmax(dim=1)
            rule_out(logs, forced_tokens(prefix, length - 1, self.best), tokens, self.visits)
            drawn = self._draw(logs, generator)
            drawn = drawn.masked_fill((ended | (limits == length))[:, None], EOS)
            totals += logs.gather(1, drawn)[:, 0].masked_fill(ended, 0.0)
            tokens = torch.cat([tokens, drawn], dim=1)
            ended = ended | (drawn[:, 0] == EOS)
        found = [
            _hypothesis(row, total)
            for row, total in zip(tokens[:, 1:].tolist(), totals.tolist(), strict=True)
        ]
        return [
            sorted(found[start : start + self.best], key=lambda each: -each.score)
            for start in range(0, len(found), self.best)
        ]

    def quick(self) -> Sample:
        return self.changed(best=1)

    @property
    def candidates(self) -> int:
        return self.best

    def all_found(self) -> Sample:
        return self

    def seeded(self, number: int) -> Sample:
        """With the same seed for every group, equal lines would get equal draws."""
        return self.changed(seed=Random(f"{self.seed} {number}").getrandbits(63))

    def _draw(self, logs: Tensor, generator: torch.Generator) -> Tensor:
        """One token (R, 1) from each distribution (R, V); drawn on the CPU, so that every device
        draws the same."""
        tempered = (logs - logs.amax(dim=1, keepdim=True)) / self.temperature
        probabilities = filter_top(tempered, self.top_k, self.top_p).softmax(dim=-1)
        return torch.multinomial(probabilities.cpu(), 1, generator=generator).to(logs.device)


def filter_top(scores: Tensor, top_k: int, top_p: float) -> Tensor:
    """Rule out all but the `top_k` best (0: all), and then all but the smallest set of choices
    whose probability reaches `top_p` (Holtzman et al. 2020, arXiv 1904.09751). (R, V)"""
    if 0 < top_k < scores.shape[1]:
        least = scores.topk(top_k, dim=1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -math.inf)
    if top_p < 1:
        ordered, indices = scores.sort(dim=1, descending=True)
        before = ordered.softmax(dim=1).cumsum(dim=1).roll(1, dims=1)
        before[:, 0] = -1.0  # the best is kept, even where top_p rounds to 0
        in_tail = (before >= top_p).scatter(1, indices, before >= top_p)
        scores = scores.masked_fill(in_tail, -math.inf)
    return scores


def _hypothesis(tokens: list[int], total: float) -> Hypothesis:
    end = tokens.index(EOS)
    return Hypothesis(tuple(tokens[:end]), total / (end + 1), total)
