"""Language models: p(y) = product over t of p(y_t | y_<t), a decoder without a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Optional

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import MAX_LAYERS
from regard.data.batch import Padded
from regard.models.base import KIND, Decoder, Encoder, EncoderDecoder, Family
from regard.models.causal import CausalDecoder, CausalShared, Read
from regard.nn.attention import KeysValues
from regard.nn.blocks import ATTENTION_ONLY, BlockConfig, Embedding, SelfLayer
from regard.nn.dropout import Dropout
from regard.nn.embedding import embed
from regard.nn.mixers import MixerKind, MixerSizes, check_mixers, in_turn
from regard.nn.output import Projection
from regard.nn.position import Position
from regard.nn.recurrent import CellKind, CellState, Stack
from regard.nn.state import Encoded, State


class LanguageConfig(BlockConfig, Family):
    """By default a Transformer's decoder without a source; `cell` makes it recurrent."""

    kind: Literal["language"] = Field(default="language", description=KIND)
    cell: Literal["attention", "rnn", "gru", "lstm"] = Field(
        default="attention", description="Causal self-attention, or a recurrent cell."
    )
    layers: int = Field(default=4, ge=1, le=MAX_LAYERS, description="Number of layers.")
    mixers: tuple[MixerKind, ...] = Field(
        default=("full",), min_length=1, description="Mixers, repeated over the layers."
    )
    tying: Literal["none", "target"] = Field(
        default="target", description="target: input and output share their embeddings."
    )
    smoothing: float = Field(
        default=0.0, ge=0, lt=1, description="Label smoothing; above 0 the perplexity gets worse."
    )

    @model_validator(mode="after")
    def _fits(self) -> LanguageConfig:
        if self.cell == "attention":
            self.check_width()
        else:
            self.refuse_for_cell((*ATTENTION_ONLY, "mixers", "residual"), self.cell)
        check_mixers(self.mixers, self.layers, self.position, causal=True)
        return self

    @property
    def reads_source(self) -> bool:
        return False

    @property
    def length_limit(self) -> Optional[int]:
        return self.max_length if self.position == "learned" else None

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        tokens = embed(target_size, self.width)
        tied = self.tying == "target"
        weight = tokens.weight if tied else embed(target_size, self.width).weight
        return EncoderDecoder(
            NoSource(self.width),
            self._decoder(tokens),
            Projection(weight, self.smoothing, target_size),
            length_limit=self.length_limit,
            reads_source=False,
        )

    def _decoder(self, tokens: nn.Embedding) -> Decoder:
        if self.cell == "attention":
            return AttentionLanguage(self, tokens)
        return RecurrentLanguage(self, self.cell, tokens)

    @classmethod
    def miniatures(cls) -> list[LanguageConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(layers=2, width=16, inner=24, heads=2, dropout=0.0)
        return [
            small,
            small.changed(norm="post", position="learned", tying="none"),
            small.changed(
                mixers=("bigbird", "window"),
                mixing=MixerSizes(neighbourhood=3, block=2),
                position="shaw",
                max_distance=2,
            ),
            small.changed(mixers=("linear", "none"), position="none"),
            cls(cell="lstm", layers=2, width=16, dropout=0.0),
        ]


class NoSource(Encoder):
    """An output without positions (B, 0, D), whatever the source."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, source: Padded) -> Encoded:
        nothing = source.lengths.new_empty(len(source.lengths), 0)  # (B, 0)
        return Encoded(nothing[:, :, None].float().expand(-1, -1, self.width), nothing.bool())


class AttentionLanguage(CausalDecoder[SelfLayer]):
    """Each position attends to itself and those before it (Liu et al. 2018, arXiv 1801.10198)."""

    def __init__(self, config: LanguageConfig, tokens: nn.Embedding) -> None:
        mixers = in_turn(config.mixers, config.layers)
        super().__init__(
            config,
            tokens,
            mixers,
            lambda mixer, number: SelfLayer(config, mixer, number, ("read", "read")),
        )

    def keys_values(self, source: Tensor) -> tuple[KeysValues, ...]:
        return ()

    def readers(self, shared: CausalShared) -> Iterator[Read]:
        return (layer.read for layer in self.layers)


RecurrentState = State[tuple[()], tuple[CellState, ...]]


class RecurrentLanguage(Decoder[tuple[()], tuple[CellState, ...]]):
    """s_t = f(s_{t-1}, y_{t-1}), and the output is a softmax of s_t (Mikolov et al. 2010).

    s_0 = tanh(W c) of a learned c, as there is no source to derive it from. Its past: the state of
    each layer.
    """

    def __init__(self, config: LanguageConfig, cell: CellKind, tokens: nn.Embedding) -> None:
        super().__init__()
        c = config
        self.beginning = nn.Parameter(torch.randn(c.width))
        self.words = Embedding(tokens, Position(), c.dropout, c.token_dropout)
        self.stack = Stack(cell, c.width, c.width, c.layers, residual=False, dropout=c.dropout)
        self.dropout = Dropout(c.dropout)

    def start(self, encoded: Encoded) -> RecurrentState:
        c = self.beginning.expand(len(encoded.output), -1)  # (B, D)
        return State(shared=(), past=self.stack.start(c))

    def forward(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        s, past = self.stack(self.words(tokens), state.past)
        return self.dropout(s), state.advance(past, by=tokens.shape[1])
