"""Ensembles: several models learn side by side from the same batches, and write by their mean
(Hansen & Salamon 1990; in translation Sutskever et al. 2014)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Annotated, Literal, Optional, Union, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.data.annotations import Kinds
from regard.data.batch import Padded
from regard.models.base import Decoder, Encoded, Encoder, EncoderDecoder, Family
from regard.models.convolutional import ByteNetConfig, ConvolutionalConfig
from regard.models.recurrent import RecurrentConfig
from regard.models.transformer import TransformerConfig
from regard.nn.output import Loss, Output
from regard.nn.state import Nested, State

Member = Annotated[
    Union[TransformerConfig, RecurrentConfig, ConvolutionalConfig, ByteNetConfig],
    Field(discriminator="kind"),
]


class EnsembleConfig(Family):
    """`members` models of one kind, which begin with other weights and draw other dropout.

    What one of them learned by heart the others did not, so their mean is right more often.
    """

    kind: Literal["ensemble"] = "ensemble"
    members: int = Field(default=2, ge=2, le=16)
    member: Member = TransformerConfig()

    @property
    def annotations(self) -> Kinds:
        return self.member.annotations

    @property
    def length_limit(self) -> Optional[int]:
        return self.member.length_limit

    @property
    def tying(self) -> str:
        return self.member.tying

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        return together(self.member.build(source_size, target_size) for _ in range(self.members))

    @classmethod
    def miniatures(cls) -> list[EnsembleConfig]:
        """Small members; the contract tests run each."""
        members = (TransformerConfig.miniatures()[0], RecurrentConfig.miniatures()[0])
        return [cls(members=3, member=members[0]), cls(member=members[1])]


def together(members: Iterable[EncoderDecoder]) -> EncoderDecoder:
    """One model of several alike."""
    models = list(members)
    return EncoderDecoder(
        _Encoders(model.encoder for model in models),
        _Decoders(model.decoder for model in models),
        _Outputs(model.output for model in models),
        models[0].length_limit,
    )


class _Encoders(Encoder):
    """What each made of the source, side by side: (B, S, members x D)."""

    def __init__(self, members: Iterable[Encoder]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, source: Padded) -> Encoded:
        read = [member(source) for member in self.members]
        return Encoded(torch.cat([each.output for each in read], dim=-1), read[0].mask)


class _Decoders(Decoder):
    """Hidden vectors side by side, and a state of states."""

    def __init__(self, members: Iterable[Decoder]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def start(self, encoded: Encoded) -> State:
        outputs = encoded.output.chunk(len(self.members), dim=-1)
        return _join(
            cast(Decoder, member).start(replace(encoded, output=output))
            for member, output in zip(self.members, outputs, strict=True)
        )

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        read = [member(tokens, own) for member, own in zip(self.members, _part(state), strict=True)]
        return torch.cat([hidden for hidden, _ in read], dim=-1), _join(own for _, own in read)


class _Outputs(Output):
    """The mean of the members' probabilities; in training each has the loss it would have alone."""

    def __init__(self, members: Iterable[Output]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        logs = (
            member.scores(part, own).log_softmax(dim=-1)
            for member, part, own in self._each(hidden, state)
        )
        return reduce(torch.logaddexp, logs)  # a sum of probabilities would lose the small ones

    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        losses = [
            member.loss(part, own, target, mask) for member, part, own in self._each(hidden, state)
        ]
        alone = torch.stack([loss.nll for loss in losses])  # (members, N)
        return Loss(
            torch.stack([loss.total for loss in losses]).sum(),
            math.log(len(losses)) - (-alone).logsumexp(dim=0),
            losses[0].tokens,
        )

    def narrow(self, choices: Tensor) -> Output:
        return _Outputs(cast(Output, member).narrow(choices) for member in self.members)

    def for_search(self) -> Output:
        return _Outputs(cast(Output, member).for_search() for member in self.members)

    def quantized(self) -> Output:
        return _Outputs(cast(Output, member).quantized() for member in self.members)

    def _each(self, hidden: Tensor, state: State) -> Iterable[tuple[Output, Tensor, State]]:
        members = [cast(Output, member) for member in self.members]
        return zip(members, hidden.chunk(len(members), dim=-1), _part(state), strict=True)


def _join(states: Iterable[State]) -> State:
    own = list(states)
    return replace(
        own[0],
        shared=tuple(state.shared for state in own),
        past=tuple(state.past for state in own),
    )


def _part(state: State) -> list[State]:
    shared, past = cast(tuple[Nested, ...], state.shared), cast(tuple[Nested, ...], state.past)
    return [replace(state, shared=own, past=row) for own, row in zip(shared, past, strict=True)]
