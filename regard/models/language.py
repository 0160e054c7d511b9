"""Language models: p(y) = product over t of p(y_t | y_<t), a decoder without a source."""

from __future__ import annotations

from typing import Literal, Optional, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.models.base import Decoder, Encoded, Encoder, EncoderDecoder, Family
from regard.nn.blocks import BlockConfig, Embedding, SelfLayer
from regard.nn.dropout import Dropout
from regard.nn.embedding import embed
from regard.nn.mixers import MixerKind, MixerSizes, check_mixers, in_turn
from regard.nn.mixers.base import Cache
from regard.nn.mixers.context import NextTokens
from regard.nn.output import Projection
from regard.nn.position import Position
from regard.nn.recurrent import CellKind, CellState, Stack
from regard.nn.state import Nested, State

OF_ATTENTION = (
    "inner",
    "heads",
    "mixers",
    "mixing",
    "scale_scores",
    "residual",
    "normalisation",
    "norm",
    "position",
    "max_length",
    "max_distance",
    "scale_embeddings",
)
"""Settings that a recurrent cell has no use for."""


class LanguageConfig(BlockConfig, Family):
    """Unless another cell is given: a Transformer's decoder without a source."""

    kind: Literal["language"] = "language"
    cell: Literal["attention", "rnn", "gru", "lstm"] = "attention"
    layers: int = Field(default=4, ge=1)
    mixers: tuple[MixerKind, ...] = Field(default=("full",), min_length=1)  # in turn over layers
    tying: Literal["none", "target"] = "target"
    smoothing: float = Field(default=0.0, ge=0, lt=1)  # any makes the perplexity worse

    @model_validator(mode="after")
    def _fits(self) -> LanguageConfig:
        if self.cell == "attention":
            self.check_width()
        else:
            self._must_be_recurrent()
        check_mixers(self.mixers, self.layers, self.position, causal=True)
        return self

    @property
    def reads_source(self) -> bool:
        return False

    def _must_be_recurrent(self) -> None:
        for name in OF_ATTENTION:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"'{name}' is for cell=attention alone, and this is {self.cell}")

    @property
    def length_limit(self) -> Optional[int]:
        return self.max_length if self.position == "learned" else None

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        tokens = embed(target_size, self.width)
        tied = self.tying == "target"
        weight = tokens.weight if tied else embed(target_size, self.width).weight
        model = EncoderDecoder(
            NoSource(self.width),
            self._decoder(tokens),
            Projection(weight, self.smoothing, target_size),
            length_limit=self.length_limit,
        )
        model.reads_source = False
        return model

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
    """An output of no places (B, 0, D), whatever the source."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, source: Padded) -> Encoded:
        rows = len(source.lengths)
        return Encoded(torch.zeros(rows, 0, self.width), torch.zeros(rows, 0, dtype=torch.bool))


class AttentionLanguage(Decoder):
    """Each place looks at itself and those before it (Liu et al. 2018, arXiv 1801.10198).

    Shared by the hypotheses of a text: what each layer's mixer keeps for all of them. Its past:
    which columns of these a hypothesis's own tokens are in, (R, columns), and what each layer's
    mixer keeps for one.
    """

    def __init__(self, config: LanguageConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.embedding = config.embedding(tokens)
        layers = [
            SelfLayer(config, mixer, number, ("read", "read"))
            for number, mixer in enumerate(in_turn(config.mixers, config.layers))
        ]
        self.uses_columns = any(layer.attention.uses_columns for layer in layers)
        self.layers = nn.ModuleList(layers)
        self.norm = config.last_norm()

    def start(self, encoded: Encoded) -> State:
        rows = len(encoded.output)
        memories = [cast(SelfLayer, layer).attention.start(encoded.output) for layer in self.layers]
        return State(
            shared=tuple(memory.shared for memory in memories),
            past=(encoded.mask.new_ones(rows, 0), tuple(memory.past for memory in memories)),
        )

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        shared = cast(tuple[Nested, ...], state.shared)
        seen, past = cast(tuple[Tensor, tuple[Nested, ...]], state.past)
        reading = NextTokens(tokens, state.length, len(tokens) // state.copies, seen)
        x = self.embedding(tokens, state.length)  # (R, T, D)
        memories = []
        for layer, *kept in zip(self.layers, shared, past, strict=True):
            x, memory = cast(SelfLayer, layer).read(x, Cache(*kept), reading)
            memories.append(memory)
        return self.norm(x, reading), state.advance(
            past=(reading.own if self.uses_columns else seen, tuple(m.past for m in memories)),
            by=tokens.shape[1],
            shared=tuple(m.shared for m in memories),
        )


class RecurrentLanguage(Decoder):
    """s_t = f(s_{t-1}, y_{t-1}), and the output is a softmax of s_t (Mikolov et al. 2010).

    s_0 = tanh(W c) of a learned c, as there is no source to give it. Its past: the memory of each
    layer.
    """

    def __init__(self, config: LanguageConfig, cell: CellKind, tokens: nn.Embedding) -> None:
        super().__init__()
        c = config
        self.beginning = nn.Parameter(torch.randn(c.width))
        self.words = Embedding(tokens, Position(), c.dropout, c.token_dropout)
        self.stack = Stack(cell, c.width, c.width, c.layers, residual=False, dropout=c.dropout)
        self.dropout = Dropout(c.dropout)

    def start(self, encoded: Encoded) -> State:
        c = self.beginning.expand(len(encoded.output), -1)  # (B, D)
        return State(shared=(), past=self.stack.start(c))

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        s, past = self.stack(self.words(tokens), cast(tuple[CellState, ...], state.past))
        return self.dropout(s), state.advance(past, by=tokens.shape[1])
