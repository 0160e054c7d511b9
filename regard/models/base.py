"""The contract of every model: two verbs, and for the autoregressive ones three parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Optional

import torch
from torch import Tensor, nn

from regard.config import Settings
from regard.data.annotations import Kinds
from regard.data.batch import BOS, Batch, Padded
from regard.nn.output import Loss, Output
from regard.nn.state import State
from regard.search.base import Hypothesis, Search


@dataclass(frozen=True)
class Encoded:
    """What an encoder made of the source: output (B, S, D) and mask (B, S) of its real places."""

    output: Tensor
    mask: Tensor


class Encoder(nn.Module, ABC):
    @abstractmethod
    def forward(self, source: Padded) -> Encoded: ...


class Decoder(nn.Module, ABC):
    @abstractmethod
    def start(self, encoded: Encoded) -> State:
        """The state before any target token."""

    @abstractmethod
    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read T more tokens (B x copies, T): hidden (B x copies, T, D) and the state after them.

        T is all of them in training, some for a given prefix, one in a step of search.
        """


class Family(Settings):
    """What the settings of every family of models can be asked."""

    @property
    def reads_source(self) -> bool:
        """A language model reads none."""
        return True

    @property
    def annotations(self) -> Kinds:
        """What its models read of the source besides the text."""
        return ()

    @property
    def length_limit(self) -> Optional[int]:
        """The most pieces on a side, EOS included, if there is a limit."""
        return None


class Model(nn.Module, ABC):
    """Anything that learns from sentence pairs and turns a source into targets."""

    length_limit: Optional[int] = None  # that of its family
    reads_source: bool = True  # a language model reads none

    @abstractmethod
    def forward(self, batch: Batch) -> Loss: ...

    @abstractmethod
    def log_probabilities(self, batch: Batch) -> Tensor:
        """log p of each target token given the source and the tokens before it, (B, T); 0 at
        padding."""

    @abstractmethod
    def generate(
        self, source: Padded, search: Search, prefix: Optional[Padded] = None
    ) -> list[list[Hypothesis]]: ...

    def choices(self, batch: Batch) -> Optional[Tensor]:
        """log p of every token at each place of the target, (B, T, V), where a model has that."""
        return None


class EncoderDecoder(Model):
    """Every autoregressive family is this class with other parts:
    p(y | x) = product over t of p(y_t | y_<t, x)."""

    def __init__(
        self, encoder: Encoder, decoder: Decoder, output: Output, length_limit: Optional[int] = None
    ) -> None:
        super().__init__()
        self.length_limit = length_limit
        self.encoder = encoder
        self.decoder = decoder
        self.output = output

    def forward(self, batch: Batch) -> Loss:
        hidden, state = self.read(batch)
        return self.output.loss(hidden, state, batch.target.values, batch.target.mask)

    def read(self, batch: Batch) -> tuple[Tensor, State]:
        """One teacher-forced pass: the hidden vector (B, T, D) that predicts each target token."""
        start = self.decoder.start(self.encoder(batch.source))
        hidden, state = self.decoder(shift_right(batch.target.values), start)
        return hidden, state

    @torch.inference_mode()
    def log_probabilities(self, batch: Batch) -> Tensor:
        chosen = self.choices(batch).gather(2, batch.target.values[:, :, None])[:, :, 0]
        return chosen.masked_fill(~batch.target.mask, 0.0)

    @torch.inference_mode()
    def choices(self, batch: Batch) -> Tensor:
        hidden, state = self.read(batch)
        return self.output.scores(hidden, state).log_softmax(dim=-1)

    @torch.inference_mode()
    def generate(
        self, source: Padded, search: Search, prefix: Optional[Padded] = None
    ) -> list[list[Hypothesis]]:
        state = self.decoder.start(self.encoder(source))
        limits = search.limits(source.lengths)
        if prefix is not None:
            limits = limits.maximum(prefix.lengths + 1)  # the prefix and its end fit in any case
        if self.length_limit is not None:
            limits = limits.clamp(max=self.length_limit)
        return search.find(self.step, state, limits, prefix)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """What search calls: tokens (R, T) to the scores (R, V) after the last of them."""
        hidden, state = self.decoder(tokens, state)
        return self.output.scores(hidden[:, -1:], state)[:, 0], state


def shift_right(target: Tensor) -> Tensor:
    """What the decoder reads to predict each target token (B, T): BOS, then all but the last."""
    begin = torch.full_like(target[:, :1], BOS)
    return torch.cat([begin, target[:, :-1]], dim=1)
