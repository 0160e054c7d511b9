"""Beam search: at each step keep the most probable partial targets (greedy is a beam of one)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

import torch
from pydantic import Field, PrivateAttr, model_validator
from torch import Tensor

from regard.data.batch import BOS, EOS, Padded
from regard.nn.state import State
from regard.search.base import Hypothesis, Observer, Search, Step, forced_tokens
from regard.search.best import best_continuations, first_rows, prepare_scores

NOTHING_FOUND = Hypothesis((), -math.inf, -math.inf)
"""The result where every score is NaN or infinite."""


class Beam(Search):
    """Keeps `beam` hypotheses per sentence until `finished` of them have ended or the length limit
    is reached.

    Hypotheses are ranked by log p / length^length_penalty, since a sum of logarithms alone
    favours short targets. At the limit, EOS is the only choice left.
    """

    beam: int = Field(default=5, ge=1, le=1024, description="Beam size; 1 is greedy search.")
    finished: Optional[int] = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Stop after this many finished hypotheses; null: the beam size.",
    )
    length_penalty: float = Field(
        default=1.0, ge=0, le=10, description="Rank by log p / length^penalty."
    )

    _gives_probabilities: bool = PrivateAttr(default=True)
    _observer: Optional[Observer] = PrivateAttr(default=None)

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
            state, live = self._extend(scores, state, live, done)
            self.report(live.tokens, live.totals)
            state, live = self._drop_finished(state, live)
        return [
            sorted(each, key=lambda found: -found.score)[: self.best] or [NOTHING_FOUND]
            for each in done
        ]

    @property
    def gives_probabilities(self) -> bool:
        return self._gives_probabilities

    def quick(self) -> Beam:
        """Greedy search on unnormalised scores, which is a tenth faster and gives no
        probabilities."""
        greedy = self.changed(beam=1, best=1, finished=None)
        greedy._gives_probabilities = False
        return greedy

    @property
    def length_exponent(self) -> float:
        return self.length_penalty

    @property
    def candidates(self) -> int:
        return self.beam

    def all_found(self) -> Beam:
        return self.changed(best=self.beam)

    def observed(self, observer: Observer) -> Beam:
        observed = self.all_found()
        observed._observer = observer
        return observed

    def report(self, tokens: Tensor, totals: Tensor) -> None:
        """Tell the observer, if there is one, who may end the search by an error."""
        if self._observer is not None:
            self._observer(tokens, totals)

    def _extend(
        self, scores: Tensor, state: State, live: _Live, done: list[list[Hypothesis]]
    ) -> tuple[State, _Live]:
        """One more token for every hypothesis: the best continue, those that end are done."""
        sentences, copies = live.totals.shape
        forced = forced_tokens(live.prefix, live.length, copies)
        scores, maxima = prepare_scores(
            scores, forced, self._gives_probabilities, live.tokens.flatten(0, 1), self.visits
        )
        ending = scores[:, EOS].view(sentences, copies) + live.totals
        totals, parents, tokens = best_continuations(scores, maxima, live.totals, self.beam)
        totals.masked_fill_((live.limits == live.length + 1)[:, None], -math.inf)
        counts, highest = self._finish(ending, totals, live, done)
        if copies < self.beam:
            state = state.spread(self.beam)
        elif self.beam > 1:
            state = state.select((parents + first_rows(totals)).flatten())
        return state, live.follow(parents, tokens, totals, counts, highest)

    def _finish(
        self, ending: Tensor, continuing: Tensor, live: _Live, done: list[list[Hypothesis]]
    ) -> tuple[Tensor, Tensor]:
        """Finish the hypotheses whose EOS is among the `beam` best of all continuations.

        ending (B, copies), continuing (B, beam); gives how many each sentence has finished (B,) and
        the highest log-probability among them (B,).
        """
        better = (continuing[:, None, :] > ending[:, :, None]).sum(-1)
        better += (ending[:, None, :] > ending[:, :, None]).sum(-1)
        accepted = better < self.beam
        if not bool(accepted.any()):
            return live.finished, live.highest
        accepted &= ending.isfinite()
        scale = (live.length + 1) ** self.length_penalty
        for sentence, tokens, total in zip(
            live.sentences[accepted.nonzero()[:, 0]].tolist(),
            live.tokens[accepted][:, 1:].tolist(),
            ending[accepted].tolist(),
            strict=True,
        ):
            total = total if self._gives_probabilities else math.nan
            done[sentence].append(Hypothesis(tuple(tokens), total / scale, total))
        highest = ending.masked_fill(~accepted, -math.inf).amax(dim=1).maximum(live.highest)
        return live.finished + accepted.sum(dim=1), highest

    def _drop_finished(self, state: State, live: _Live) -> tuple[State, _Live]:
        """Sentences with enough finished hypotheses leave the batch.

        Among few indices the first to finish may be improbable: they do not count as enough while a
        longer one is more probable than all of them. Once every index was written, nothing follows.
        """
        staying = live.finished < (self.finished or self.beam)
        if self.visits != "any":
            likeliest = live.totals.amax(dim=1)
            staying = (staying | (likeliest > live.highest)) & likeliest.isfinite()
        staying &= live.limits > live.length
        if bool(staying.all()):
            return state, live
        rows = staying.nonzero()[:, 0]
        return state.keep(rows), live.keep(rows)


@dataclass(frozen=True)
class _Live:
    """The unfinished hypotheses: B sentences, `copies` for each."""

    sentences: Tensor  # (B,) their index in the original batch
    limits: Tensor  # (B,)
    prefix: Optional[Padded]
    tokens: Tensor  # (B, copies, 1 + length), BOS first
    totals: Tensor  # (B, copies) log-probability so far
    finished: Tensor  # (B,) hypotheses that have ended
    highest: Tensor  # (B,) log-probability of the best of them

    @staticmethod
    def begin(limits: Tensor, prefix: Optional[Padded]) -> _Live:
        sentences = torch.arange(len(limits), device=limits.device)
        tokens = torch.full_like(limits, BOS)[:, None, None]
        totals, finished = (
            torch.zeros_like(tokens[:, 0], dtype=torch.float),
            torch.zeros_like(limits),
        )
        highest = totals.new_full((len(limits),), -math.inf)
        return _Live(sentences, limits, prefix, tokens, totals, finished, highest)

    @property
    def length(self) -> int:
        return self.tokens.shape[2] - 1

    def last(self) -> Tensor:
        return self.tokens[:, :, -1].reshape(-1, 1)

    def follow(
        self, parents: Tensor, tokens: Tensor, totals: Tensor, finished: Tensor, highest: Tensor
    ) -> _Live:
        """parents, tokens and totals (B, beam), finished and highest (B,)."""
        history = self.tokens.gather(1, parents[:, :, None].expand(-1, -1, self.tokens.shape[2]))
        longer = torch.cat([history, tokens[:, :, None]], dim=2)
        return _Live(self.sentences, self.limits, self.prefix, longer, totals, finished, highest)

    def keep(self, rows: Tensor) -> _Live:
        prefix = self.prefix and Padded(self.prefix.values[rows], self.prefix.lengths[rows])
        return _Live(
            self.sentences[rows],
            self.limits[rows],
            prefix,
            self.tokens[rows],
            self.totals[rows],
            self.finished[rows],
            self.highest[rows],
        )
