"""Language models: p(y) = product over t of p(y_t | y_<t), a decoder without a source."""

from __future__ import annotations

from typing import Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import Settings
from regard.data.batch import Padded
from regard.models.base import Decoder, Encoded, Encoder, EncoderDecoder
from regard.nn.attention import KeysValues, also_own, see_own
from regard.nn.blocks import CausalLayer, Embedding, Placement
from regard.nn.dropout import Dropout
from regard.nn.embedding import embed
from regard.nn.output import Projection
from regard.nn.position import Position, PositionKind, build_position
from regard.nn.recurrent import CellKind, Memory, Stack
from regard.nn.state import State

OF_ATTENTION = ("inner", "heads", "norm", "position", "max_length")
"""Settings that a recurrent cell has no use for."""


class LanguageConfig(Settings):
    """Unless another cell is given: a Transformer's decoder without a source."""

    kind: Literal["language"] = "language"
    cell: Literal["attention", "rnn", "gru", "lstm"] = "attention"
    layers: int = Field(default=4, ge=1)
    width: int = Field(default=128, ge=2)
    inner: int = Field(default=256, ge=1)
    heads: int = Field(default=4, ge=1)
    norm: Placement = "pre"
    position: PositionKind = "sinusoidal"
    max_length: int = Field(default=1024, ge=1)  # for learned positions alone
    tying: Literal["none", "target"] = "target"
    dropout: float = Field(default=0.1, ge=0, lt=1)
    smoothing: float = Field(default=0.0, ge=0, lt=1)  # any makes the perplexity worse

    @model_validator(mode="after")
    def _fits(self) -> LanguageConfig:
        if self.cell != "attention":
            self._must_be_recurrent()
        elif self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be split among {self.heads} heads")
        elif self.width % 2 or (self.position == "rotary" and self.width // self.heads % 2):
            raise ValueError("positions need an even width, rotary ones an even width of each head")
        return self

    def _must_be_recurrent(self) -> None:
        for name in OF_ATTENTION:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"'{name}' is for cell=attention alone, and this is {self.cell}")

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        tokens = embed(target_size, self.width)
        tied = self.tying == "target"
        weight = tokens.weight if tied else embed(target_size, self.width).weight
        model = EncoderDecoder(
            NoSource(self.width),
            self._decoder(tokens),
            Projection(weight, self.smoothing),
            longest=self.max_length if self.position == "learned" else None,
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
            small.model_copy(update={"norm": "post", "position": "learned", "tying": "none"}),
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

    Shared by the hypotheses of a text: keys and values of all they have read, (B, H, columns, K)
    for each layer. Its past: which columns a hypothesis's own tokens are in, (R, columns).
    """

    def __init__(self, config: LanguageConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        c = config
        self.heads = c.heads
        position = build_position(c.position, c.width, c.heads, c.max_length)
        self.embedding = Embedding(tokens, position, c.dropout)
        self.layers = nn.ModuleList(
            CausalLayer(c.width, c.inner, c.heads, position, c.norm, c.dropout)
            for _ in range(c.layers)
        )
        self.norm = nn.LayerNorm(c.width) if c.norm == "pre" else nn.Identity()

    def start(self, encoded: Encoded) -> State:
        rows, _, width = encoded.output.shape
        nothing = encoded.output.new_zeros(rows, self.heads, 0, width // self.heads)
        read = tuple((nothing, nothing) for _ in self.layers)
        return State(shared=read, past=encoded.mask.new_ones(rows, 0))

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        read, seen = cast(tuple[KeysValues, ...], state.shared), cast(Tensor, state.past)
        sentences, length = len(read[0][0]), tokens.shape[1]
        mask = see_own(seen, sentences, length)
        x = self.embedding(tokens, state.length)  # (R, T, D)
        more = []
        for layer, before in zip(self.layers, read, strict=True):
            x, after = layer(x, before, mask, state.length)
            more.append(after)
        past = also_own(seen, sentences, length)
        return self.norm(x), state.advance(past, length, shared=tuple(more))


class RecurrentLanguage(Decoder):
    """s_t = f(s_{t-1}, y_{t-1}), and the output is a softmax of s_t (Mikolov et al. 2010).

    s_0 = tanh(W c) of a learned c, as there is no source to give it. Its past: the memory of each
    layer.
    """

    def __init__(self, config: LanguageConfig, cell: CellKind, tokens: nn.Embedding) -> None:
        super().__init__()
        c = config
        self.beginning = nn.Parameter(torch.randn(c.width))
        self.words = Embedding(tokens, Position(), c.dropout)
        self.stack = Stack(cell, c.width, c.width, c.layers, residual=False, dropout=c.dropout)
        self.dropout = Dropout(c.dropout)

    def start(self, encoded: Encoded) -> State:
        c = self.beginning.expand(len(encoded.output), -1)  # (B, D)
        return State(shared=(), past=self.stack.start(c))

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        s, past = self.stack(self.words(tokens), cast(tuple[Memory, ...], state.past))
        return self.dropout(s), state.advance(past, by=tokens.shape[1])
