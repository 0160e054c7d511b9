"""Beam search: at each step keep the most probable partial targets (greedy is a beam of one)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

import torch
from pydantic import Field, model_validator
from torch import Tensor

from regard.data.batch import BOS, EOS, Padded
from regard.nn.state import State
from regard.search.rules import Hypothesis, Search, Step, force, log_probabilities


class Beam(Search):
    """Keeps `beam` hypotheses a sentence until `finished` of them have ended or the limit comes.

    Hypotheses are ranked by log p / length^length_penalty, since a sum of logarithms alone
    favours short targets. At the limit, ending is the only choice left.
    """

    beam: int = Field(default=5, ge=1, le=1024)
    best: int = Field(default=1, ge=1)
    finished: Optional[int] = Field(default=None, ge=1)  # None: as many as the beam is wide
    length_penalty: float = Field(default=1.0, ge=0)

    @model_validator(mode="after")
    def _fits(self) -> Beam:
        if self.best > self.beam:
            raise ValueError(f"a beam of {self.beam} cannot give the {self.best} best")
        return self

    @torch.inference_mode()
    def find(
        self, step: Step, state: State, limits: Tensor, prefix: Optional[Padded] = None
    ) -> list[list[Hypothesis]]:
        done: list[list[Hypothesis]] = [[] for _ in limits]
        live = _Live.begin(limits, prefix)
        while len(live.sentences):
            scores, state = step(live.last(), state)
            logs = log_probabilities(scores)
            if live.prefix is not None:
                logs = force(logs, live.prefix, live.length)
            state, live, ended = self._extend(logs, state, live)
            for sentence, hypothesis in ended:
                done[sentence].append(hypothesis)
            state, live = self._let_go(state, live, done)
        return [sorted(each, key=lambda found: -found.score)[: self.best] for each in done]

    def _extend(
        self, logs: Tensor, state: State, live: _Live
    ) -> tuple[State, _Live, list[tuple[int, Hypothesis]]]:
        """One more token for every hypothesis: the best go on, those that end are taken out."""
        sentences, copies = live.totals.shape
        logs = logs.view(sentences, copies, -1) + live.totals[:, :, None]  # (B, copies, V)
        ending = logs[:, :, EOS].clone()  # (B, copies)
        logs[:, :, EOS] = -math.inf
        logs.masked_fill_((live.limits == live.length + 1)[:, None, None], -math.inf)
        choices = logs.shape[-1]
        totals, flat = _top(logs.flatten(1), self.beam)  # (B, beam)
        ended = self._ended(ending, totals, live)
        if copies < self.beam:
            state = state.spread(self.beam // copies)
            parents = flat // choices
        else:
            parents = flat // choices
            state = state.select((parents + _offsets(sentences, self.beam)).flatten())
        return state, live.follow(parents, flat % choices, totals), ended

    def _ended(self, ending: Tensor, going_on: Tensor, live: _Live) -> list[tuple[int, Hypothesis]]:
        """The hypotheses whose end is among the `beam` best of all continuations."""
        better = (going_on[:, None, :] > ending[:, :, None]).sum(-1)
        better += (ending[:, None, :] > ending[:, :, None]).sum(-1)
        accepted = (better < self.beam) & ending.isfinite()
        length = live.length + 1
        return [
            (
                int(live.sentences[row]),
                Hypothesis(
                    tokens=tuple(live.tokens[row, copy, 1:].tolist()),
                    score=float(ending[row, copy]) / length**self.length_penalty,
                    log_probability=float(ending[row, copy]),
                ),
            )
            for row, copy in accepted.nonzero().tolist()
        ]

    def _let_go(
        self, state: State, live: _Live, done: list[list[Hypothesis]]
    ) -> tuple[State, _Live]:
        """Sentences that have enough leave the batch."""
        enough = self.finished or self.beam
        staying = [
            row
            for row, sentence in enumerate(live.sentences.tolist())
            if len(done[sentence]) < enough and live.length < int(live.limits[row])
        ]
        if len(staying) == len(live.sentences):
            return state, live
        rows = torch.tensor(staying, dtype=torch.long)
        return state.keep(rows), live.keep(rows)


@dataclass(frozen=True)
class _Live:
    """The hypotheses that go on: B sentences, `copies` for each."""

    sentences: Tensor  # (B,) their number in the batch at the start
    limits: Tensor  # (B,)
    prefix: Optional[Padded]
    tokens: Tensor  # (B, copies, 1 + length), beginning with BOS
    totals: Tensor  # (B, copies) log-probability so far

    @staticmethod
    def begin(limits: Tensor, prefix: Optional[Padded]) -> _Live:
        sentences = torch.arange(len(limits))
        tokens = torch.full((len(limits), 1, 1), BOS)
        return _Live(sentences, limits, prefix, tokens, torch.zeros(len(limits), 1))

    @property
    def length(self) -> int:
        return self.tokens.shape[2] - 1

    def last(self) -> Tensor:
        return self.tokens[:, :, -1].reshape(-1, 1)

    def follow(self, parents: Tensor, tokens: Tensor, totals: Tensor) -> _Live:
        """parents, tokens and totals (B, beam)."""
        history = self.tokens.gather(1, parents[:, :, None].expand(-1, -1, self.tokens.shape[2]))
        longer = torch.cat([history, tokens[:, :, None]], dim=2)
        return _Live(self.sentences, self.limits, self.prefix, longer, totals)

    def keep(self, rows: Tensor) -> _Live:
        prefix = self.prefix and Padded(self.prefix.values[rows], self.prefix.lengths[rows])
        return _Live(
            self.sentences[rows], self.limits[rows], prefix, self.tokens[rows], self.totals[rows]
        )


def _offsets(sentences: int, copies: int) -> Tensor:
    return torch.arange(0, sentences * copies, copies)[:, None]


def _top(logs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` best of each row; a row with fewer is filled up with hopeless ones."""
    values, places = logs.topk(min(count, logs.shape[1]), dim=1)
    missing = count - values.shape[1]
    if missing:
        values = torch.nn.functional.pad(values, (0, missing), value=-math.inf)
        places = torch.nn.functional.pad(places, (0, missing))
    return values, places
