"""Ensembles: several models are trained on the same batches, and their mean predicts
(Hansen & Salamon 1990; in translation Sutskever et al. 2014)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Annotated, Literal, Optional, Union, cast

import torch
from pydantic import Field
from torch import Tensor

from regard.data.annotations import Kinds
from regard.data.batch import Batch, Padded
from regard.models.base import (
    KIND,
    Decoder,
    Encoder,
    EncoderDecoder,
    Family,
    Model,
    search_stepwise,
)
from regard.models.convolutional import ByteNetConfig, ConvolutionalConfig
from regard.models.recurrent import RecurrentConfig
from regard.models.transformer import TransformerConfig
from regard.models.turing import TuringConfig
from regard.nn.embedding import Tying
from regard.nn.modules import Modules
from regard.nn.output import Loss, Output
from regard.nn.state import Encoded, Nested, State
from regard.search.base import Hypothesis, Search

Member = Union[TransformerConfig, RecurrentConfig, ConvolutionalConfig, ByteNetConfig, TuringConfig]
"""The autoregressive families that read a source; `Architecture` is these and the others."""


class EnsembleConfig(Family):
    """`members` models of one kind that start from different weights and draw different dropout.

    What one of them has memorised the others have not, so their mean is right more often.
    """

    kind: Literal["ensemble"] = Field(default="ensemble", description=KIND)
    members: int = Field(default=2, ge=2, le=16, description="Number of models.")
    member: Annotated[Member, Field(discriminator="kind")] = Field(
        default=TransformerConfig(),
        description="The model that every member is; each kind has settings of its own.",
    )

    @property
    def annotations(self) -> Kinds:
        return self.member.annotations

    @property
    def length_limit(self) -> Optional[int]:
        return self.member.length_limit

    @property
    def tying(self) -> Tying:
        return self.member.tying

    @property
    def copies(self) -> bool:
        return self.member.copies

    @property
    def mixed_precision(self) -> bool:
        return self.member.mixed_precision

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        return ensemble_of(self.member.build(source_size, target_size) for _ in range(self.members))

    @classmethod
    def miniatures(cls) -> list[EnsembleConfig]:
        """Small members; the contract tests run each."""
        kinds = (TransformerConfig, RecurrentConfig, TuringConfig)
        first, *others = (kind.miniatures()[0] for kind in kinds)
        others.append(others[0].changed(copying=True))
        return [cls(members=3, member=first), *(cls(member=member) for member in others)]


def ensemble_of(members: Iterable[EncoderDecoder]) -> EncoderDecoder:
    """One model of several that have the same settings."""
    models = list(members)
    return EncoderDecoder(
        _Encoders(model.encoder for model in models),
        _Decoders(model.decoder for model in models),
        _Outputs(model.output for model in models),
        models[0].length_limit,
    )


class Ensemble(Model):
    """Finished models of any families that write one token after the other and share their
    tokenizers: the mean of their probabilities predicts.

    Nothing is known of the members but their step functions, so a Transformer and an LSTM may
    translate together.
    """

    stepwise = True

    def __init__(self, members: Iterable[Model]) -> None:
        super().__init__()
        self.members = Modules(members)
        limits = [each.length_limit for each in self.members if each.length_limit is not None]
        self.length_limit = min(limits, default=None)

    def forward(self, batch: Batch) -> Loss:
        return _mean_loss([member(batch) for member in self.members])

    @torch.inference_mode()
    def log_probabilities(self, batch: Batch) -> Tensor:
        logs = torch.stack([member.log_probabilities(batch) for member in self.members])
        mean = logs.logsumexp(dim=0) - math.log(len(self.members))
        return mean.masked_fill(~batch.target.mask, 0.0)

    @torch.inference_mode()
    def choices(self, batch: Batch) -> Optional[Tensor]:
        found = [member.choices(batch) for member in self.members]
        return reduce(torch.logaddexp, [cast(Tensor, each) for each in found]).log_softmax(dim=-1)

    @torch.inference_mode()
    def generate(
        self,
        source: Padded,
        search: Search,
        prefix: Optional[Padded] = None,
        limits: Optional[Tensor] = None,
    ) -> list[list[Hypothesis]]:
        return search_stepwise(self, source, search, prefix, limits)

    def start(self, source: Padded) -> State:
        states = [member.start(source) for member in self.members]
        return replace(_join_states(states), candidates=tuple(state.candidates for state in states))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        states = _split_state(state, cast(Parts, state.candidates))
        read = [member.step(tokens, own) for member, own in zip(self.members, states, strict=True)]
        scores = reduce(torch.logaddexp, [each.log_softmax(dim=-1) for each, _ in read])
        joined = _join_states([own for _, own in read])
        return scores, replace(joined, candidates=state.candidates)

    def narrowed(self, choices: Tensor) -> Model:
        return Ensemble(member.narrowed(choices) for member in self.members)


class _Encoders(Encoder):
    """The members' outputs side by side: (B, S, members x D)."""

    def __init__(self, members: Iterable[Encoder]) -> None:
        super().__init__()
        self.members = Modules(members)

    def forward(self, source: Padded) -> Encoded:
        encoded: list[Encoded] = [member(source) for member in self.members]
        return Encoded(
            torch.cat([each.output for each in encoded], dim=-1),
            encoded[0].mask,
            tuple(each.final for each in encoded),
        )


Parts = tuple[Nested, ...]
"""One part per member."""


class _Decoders(Decoder[Parts, Parts]):
    """Hidden vectors side by side, and a state whose parts are the members' states."""

    def __init__(self, members: Iterable[Decoder]) -> None:
        super().__init__()
        self.members = Modules(members)

    def start(self, encoded: Encoded) -> State[Parts, Parts]:
        parts = _split_encoded(encoded, len(self.members))
        return _join_states(
            [member.start(part) for member, part in zip(self.members, parts, strict=True)]
        )

    def forward(
        self, tokens: Tensor, state: State[Parts, Parts]
    ) -> tuple[Tensor, State[Parts, Parts]]:
        nothing: Parts = ((),) * len(self.members)
        states = _split_state(state, nothing)
        read = [member(tokens, own) for member, own in zip(self.members, states, strict=True)]
        joined = _join_states([own for _, own in read])
        return torch.cat([hidden for hidden, _ in read], dim=-1), replace(
            joined, candidates=state.candidates
        )


class _Outputs(Output):
    """The mean of the members' probabilities; in training each has the loss it would have alone."""

    def __init__(self, members: Iterable[Output]) -> None:
        super().__init__()
        self.members = Modules(members)

    def prepare(self, encoded: Encoded, source: Padded) -> Parts:
        parts = _split_encoded(encoded, len(self.members))
        return tuple(
            member.prepare(part, source) for member, part in zip(self.members, parts, strict=True)
        )

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        logs = (
            member.scores(part, own).log_softmax(dim=-1)
            for member, part, own in self._each(hidden, state)
        )
        return reduce(torch.logaddexp, logs)  # adding probabilities would lose the small ones

    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        losses = [
            member.loss(part, own, target, mask) for member, part, own in self._each(hidden, state)
        ]
        return _mean_loss(losses)

    def narrow(self, choices: Tensor) -> Output:
        return _Outputs(member.narrow(choices) for member in self.members)

    def for_search(self) -> Output:
        return _Outputs(member.for_search() for member in self.members)

    def quantized(self) -> Output:
        return _Outputs(member.quantized() for member in self.members)

    def _each(self, hidden: Tensor, state: State) -> Iterable[tuple[Output, Tensor, State]]:
        states = _split_state(state, cast(Parts, state.candidates))
        return zip(self.members, hidden.chunk(len(self.members), dim=-1), states, strict=True)


def _mean_loss(losses: Sequence[Loss]) -> Loss:
    """The nll of the mean of the probabilities, and the losses that the members learn by."""
    nll = torch.stack([loss.nll for loss in losses])  # (members, N)
    return replace(
        losses[0],
        total=torch.stack([loss.total for loss in losses]).sum(),
        nll=math.log(len(losses)) - (-nll).logsumexp(dim=0),
    )


def _split_encoded(encoded: Encoded, members: int) -> list[Encoded]:
    outputs, finals = encoded.output.chunk(members, dim=-1), cast(Parts, encoded.final)
    return [
        Encoded(output, encoded.mask, final) for output, final in zip(outputs, finals, strict=True)
    ]


def _join_states(states: list[State]) -> State[Parts, Parts]:
    shared = tuple(state.shared for state in states)
    return State(shared, tuple(state.past for state in states), states[0].length, states[0].copies)


def _split_state(state: State[Parts, Parts], candidates: Parts) -> list[State]:
    return [
        State(shared, past, state.length, state.copies, own)
        for shared, past, own in zip(state.shared, state.past, candidates, strict=True)
    ]
