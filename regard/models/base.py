"""The contract of every model, and the parts of the autoregressive ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, Optional

import torch
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import Self

from regard.config import Settings
from regard.data.annotations import Kinds
from regard.data.batch import BOS, Batch, Padded
from regard.errors import UsageError
from regard.metrics.table import Writes
from regard.models.example import random_batch
from regard.nn.copying import Copying
from regard.nn.embedding import Tying
from regard.nn.output import Loss, Output, Projection
from regard.nn.state import Encoded, Past, Shared, State
from regard.search.base import Hypothesis, Search

# Descriptions of settings that most families have.
KIND = "The family of the model."
LAYERS = "Layers of the encoder."
DECODER_LAYERS = "Layers of the decoder; null: as many as the encoder."
TYING = "Embeddings that are shared: none, those of the target with the output, or all three."
NO_TYING = "None are shared: the words that are read are not the labels that are written."


class Family(Settings, ABC):
    """What the settings of every family of models can be asked."""

    if TYPE_CHECKING:  # fields of most families; pydantic cannot override a property by a field

        @property
        def kind(self) -> str: ...

        @property
        def tying(self) -> Tying: ...

    @property
    def reads_source(self) -> bool:
        """False for a language model."""
        return True

    @property
    def annotations(self) -> Kinds:
        """What its models read of the source besides the text."""
        return ()

    @property
    def writes(self) -> Writes:
        return "text"

    @property
    def signature(self) -> str:
        """What is done to the outputs besides search, for the signatures of their scores."""
        return ""

    @property
    def copies(self) -> bool:
        """Whether source pieces can be written that no training target has."""
        return False

    @property
    def mixed_precision(self) -> bool:
        """Whether it learns with products that are rounded to bfloat16."""
        return True

    @property
    def length_limit(self) -> Optional[int]:
        """The most pieces on a side, EOS included, if there is a limit."""
        return None

    @abstractmethod
    def build(self, source_size: int, target_size: int) -> Model:
        """A model with random weights for vocabularies of these sizes."""

    @classmethod
    @abstractmethod
    def miniatures(cls) -> Sequence[Self]:
        """Small members which together use every option; the contract tests run each."""

    def example(self, rows: int, seed: int) -> Batch:
        """A random batch that this family can learn, for the vocabularies of `EXAMPLE_SIZES`."""
        return random_batch(rows, seed, self.reads_source, self.annotations, self.writes)


class EncoderDecoderFamily(Family):
    """A family that reads a source and writes text token by token, with any encoder and decoder."""

    tying: Tying = Field(default="all", description=TYING)
    smoothing: float = Field(default=0.1, ge=0, lt=1, description="Label smoothing.")
    copying: bool = Field(
        default=False,
        description="Each token is generated or copied from the source; needs a joint vocabulary.",
    )

    @property
    def copies(self) -> bool:
        return self.copying

    def output(
        self, weight: Tensor, target_size: int, encoded_width: int, bias: Optional[Tensor] = None
    ) -> Output:
        """What chooses tokens by their rows of the weight (V or more, D) and a bias (V,), and
        copies those of an encoded source (B, S, encoded_width) if that is set."""
        generator = Projection(weight, self.smoothing, target_size, bias)
        if not self.copying:
            return generator
        return Copying(generator, weight.shape[1], encoded_width)


class Model(nn.Module, ABC):
    """Anything that learns from pairs of lines and maps a source to targets."""

    length_limit: Optional[int] = None  # that of its family
    reads_source: bool = True  # that of its family
    reads_target: bool = True  # the tokens written so far; false if all are written at once
    writes: Writes = "text"  # that of its family
    stepwise: bool = False  # whether it has `start` and `step`

    @property
    def device(self) -> torch.device:
        """Where its weights are, and where what it is given must be."""
        return next(self.parameters()).device

    @abstractmethod
    def forward(self, batch: Batch) -> Loss: ...

    @abstractmethod
    def log_probabilities(self, batch: Batch) -> Tensor:
        """log p of each target token given the source and the tokens before it, (B, T); 0 at
        padding."""

    @abstractmethod
    def generate(
        self,
        source: Padded,
        search: Search,
        prefix: Optional[Padded] = None,
        limits: Optional[Tensor] = None,
    ) -> list[list[Hypothesis]]:
        """The best targets of each source, best first, each starting with its prefix.

        limits (B,) are the most tokens, EOS included; unless given they follow from the lengths of
        the sources. A model that reads no source needs one row per target and no columns.
        """

    def choices(self, batch: Batch) -> Optional[Tensor]:
        """log p of every token at each target position, (B, T, V), if the model has that."""
        return None

    def source_values(self, batch: Batch) -> Mapping[str, Tensor]:
        """Whole numbers that it has found for the source positions (B, S), by name, to be shown."""
        return {}

    def start(self, source: Padded) -> State:
        """Read the source: the state before any target token."""
        raise UsageError("This model does not write one token after the other.")

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """What search calls: tokens (R, T) to the scores (R, V) after the last of them."""
        raise UsageError("This model does not write one token after the other.")

    def narrowed(self, choices: Tensor) -> Model:
        """The same model with only these target ids (N,), sorted, the reserved ids first; id k of
        the new model is choices[k]."""
        raise UsageError("This model cannot use a shortlist; remove --shortlist.")


def refuse_steps(search: Search, prefix: Optional[Padded], written: str) -> None:
    """For models that write in one pass, without steps to draw in or to prescribe."""
    if search.draws or prefix is not None:
        what = "sample its tokens" if search.draws else "continue a prefix"
        raise UsageError(f"This model writes {written} at once and cannot {what}.")


class Encoder(nn.Module, ABC):
    @abstractmethod
    def forward(self, source: Padded) -> Encoded: ...


class Decoder(nn.Module, ABC, Generic[Shared, Past]):
    @abstractmethod
    def start(self, encoded: Encoded) -> State[Shared, Past]:
        """The state before any target token."""

    @abstractmethod
    def forward(
        self, tokens: Tensor, state: State[Shared, Past]
    ) -> tuple[Tensor, State[Shared, Past]]:
        """Read T more tokens (B x copies, T): hidden (B x copies, T, D) and the state after them.

        T is all of them in training, some for a given prefix, one in a step of search.
        """


class EncoderDecoder(Model):
    """Every autoregressive family is this class with other parts:
    p(y | x) = product over t of p(y_t | y_<t, x)."""

    stepwise = True

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        output: Output,
        length_limit: Optional[int] = None,
        reads_source: bool = True,
        writes: Writes = "text",
    ) -> None:
        super().__init__()
        self.writes = writes
        self.length_limit = length_limit
        self.reads_source = reads_source
        self.encoder = encoder
        self.decoder = decoder
        self.output = output

    def forward(self, batch: Batch) -> Loss:
        hidden, state = self.read(batch)
        return self.output.loss(hidden, state, batch.target.values, batch.target.mask)

    def start(self, source: Padded) -> State:
        encoded: Encoded = self.encoder(source)
        candidates = self.output.prepare(encoded, source)
        return replace(self.decoder.start(encoded), candidates=candidates)

    def read(self, batch: Batch) -> tuple[Tensor, State]:
        """One teacher-forced pass: the hidden vector (B, T, D) that predicts each target token."""
        hidden, state = self.decoder(shift_right(batch.target.values), self.start(batch.source))
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
        self,
        source: Padded,
        search: Search,
        prefix: Optional[Padded] = None,
        limits: Optional[Tensor] = None,
    ) -> list[list[Hypothesis]]:
        return search_stepwise(self, source, search, prefix, limits)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, state = self.decoder(tokens, state)
        return self.output.scores(hidden[:, -1:], state)[:, 0], state

    def narrowed(self, choices: Tensor) -> EncoderDecoder:
        return EncoderDecoder(
            self.encoder,
            _NarrowedDecoder(self.decoder, choices),
            self.output.narrow(choices),
            self.length_limit,
            self.reads_source,
            self.writes,
        )


def search_stepwise(
    model: Model,
    source: Padded,
    search: Search,
    prefix: Optional[Padded] = None,
    limits: Optional[Tensor] = None,
) -> list[list[Hypothesis]]:
    """What `generate` does for a model that has `start` and `step`."""
    if limits is None:
        limits = search.limits(source.lengths)
    if prefix is not None:
        limits = limits.maximum(prefix.lengths + 1)  # a prefix and its EOS always fit
    if model.length_limit is not None:
        limits = limits.clamp(max=model.length_limit)
    return search.find(model.step, model.start(source), limits, prefix)


class _NarrowedDecoder(Decoder):
    """A decoder whose tokens are indices into a list of choices."""

    def __init__(self, decoder: Decoder, choices: Tensor) -> None:
        super().__init__()
        self.decoder = decoder
        self.register_buffer("choices", choices, persistent=False)
        self.choices: Tensor

    def start(self, encoded: Encoded) -> State:
        return self.decoder.start(encoded)

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, state = self.decoder(self.choices[tokens], state)
        return hidden, state


def shift_right(target: Tensor) -> Tensor:
    """What the decoder reads to predict each target token (B, T): BOS, then all but the last."""
    begin = torch.full_like(target[:, :1], BOS)
    return torch.cat([begin, target[:, :-1]], dim=1)
