"""Recurrent encoder-decoders (Sutskever et al. 2014, arXiv 1409.3215; Cho et al. 2014, arXiv
1406.1078), which see the source through one fixed vector or through attention."""

from __future__ import annotations

from typing import Literal, NamedTuple, Optional

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import MAX_WIDTH
from regard.data.batch import Padded
from regard.models.base import (
    DECODER_LAYERS,
    KIND,
    LAYERS,
    Decoder,
    Encoder,
    EncoderDecoder,
    EncoderDecoderFamily,
)
from regard.nn.blocks import Embedding
from regard.nn.dropout import Dropout
from regard.nn.embedding import share_embeddings
from regard.nn.linear import linear
from regard.nn.position import Position
from regard.nn.recurrent import CellKind, CellState, RecurrentLayer, Stack, ends, reversed_positions
from regard.nn.scores import Prepared, ScoreKind, SourceAttention, build_score
from regard.nn.spelling import Spelling
from regard.nn.state import Encoded, State

Direction = Literal["forward", "backward", "both"]
"""How the encoder reads. Backward is the reversed source of Sutskever et al. 2014."""

AttentionTiming = Literal["none", "before", "after"]
"""When a decoder attends to the source: never, it is given one fixed vector; before each step
(Bahdanau et al. 2014); after each step (Luong et al. 2015)."""


class RecurrentConfig(EncoderDecoderFamily):
    """By default a bidirectional LSTM with Bahdanau's attention."""

    kind: Literal["recurrent"] = Field(default="recurrent", description=KIND)
    cell: CellKind = Field(default="lstm", description="Recurrent cell.")
    direction: Direction = Field(default="both", description="How the encoder reads the source.")
    layers: int = Field(default=1, ge=1, le=4, description=LAYERS)
    decoder_layers: Optional[int] = Field(default=None, ge=1, le=4, description=DECODER_LAYERS)
    residual: bool = Field(
        default=False, description="Residual connections around each layer above the first."
    )
    attention: AttentionTiming = Field(
        default="before",
        description="When the decoder attends to the source: never (one fixed vector), before "
        "each step (Bahdanau) or after it (Luong).",
    )
    score: ScoreKind = Field(default="additive", description="How attention scores are computed.")
    input_feeding: bool = Field(
        default=False, description="With attention=after: its result enters the next step."
    )
    width: int = Field(default=256, ge=2, le=MAX_WIDTH, description="Size of the hidden vectors.")
    dropout: float = Field(default=0.2, ge=0, lt=1, description="Dropout probability.")
    token_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Probability of dropping a whole input token."
    )

    @model_validator(mode="after")
    def _fits(self) -> RecurrentConfig:
        if self.direction == "both" and self.width % 2:
            raise ValueError("a bidirectional encoder needs an even width")
        if self.input_feeding and self.attention != "after":
            raise ValueError("input feeding needs attention=after, whose result it feeds")
        if self.residual and max(self.layers, self.decoder_layers or 1) == 1:
            raise ValueError("residual connections need a second layer")
        return self

    @property
    def forwards(self) -> int:
        """The number of columns of the encoder's output that come from reading forwards."""
        return {"forward": self.width, "backward": 0, "both": self.width // 2}[self.direction]

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        source, target, weight = share_embeddings(source_size, target_size, self.width, self.tying)
        return EncoderDecoder(
            RecurrentEncoder(self, source),
            self.decoder(target),
            self.output(weight, target_size, self.width),
        )

    def decoder(self, tokens: nn.Embedding) -> Decoder:
        """Its decoder alone, for families with another encoder."""
        if self.attention == "none":
            return FixedContext(self, tokens)
        if self.attention == "before":
            return AttentionBefore(self, tokens)
        return InputFeeding(self, tokens) if self.input_feeding else AttentionAfter(self, tokens)

    @classmethod
    def miniatures(cls) -> list[RecurrentConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(width=16, dropout=0.0)
        deep = small.changed(layers=2, residual=True)
        return [
            small,
            small.changed(cell="rnn", direction="backward", score="dot"),
            deep.changed(cell="gru", score="multiplicative", tying="none"),
            small.changed(attention="none", cell="gru", layers=2),
            deep.changed(attention="none", direction="backward", decoder_layers=1),
            small.changed(attention="after", cell="rnn", tying="target"),
            deep.changed(attention="after", direction="forward", score="multiplicative"),
            deep.changed(
                attention="after", input_feeding=True, score="dot", layers=1, decoder_layers=3
            ),
            small.changed(copying=True, tying="none"),
            small.changed(copying=True, attention="none", cell="gru"),
        ]


class RecurrentEncoder(Encoder):
    def __init__(
        self, config: RecurrentConfig, tokens: nn.Embedding, spelling: Optional[Spelling] = None
    ) -> None:
        super().__init__()
        self.words = _words(config, tokens)
        self.spelling = spelling
        self.first, *upper = (
            RecurrentLayer(config.cell, config.width, config.forwards) for _ in range(config.layers)
        )
        self.upper = nn.ModuleList(upper)
        self.residual = config.residual
        self.dropout = Dropout(config.dropout)

    def forward(self, source: Padded) -> Encoded:
        backwards = reversed_positions(source.mask)
        beside = self.spelling(source) if self.spelling else None
        x = self.first(self.words(source.values, beside=beside), backwards)  # (B, S, D)
        for layer in self.upper:
            written = layer(self.dropout(x), backwards)
            x = x + written if self.residual else written
        return Encoded(self.dropout(x), source.mask)


CellStates = tuple[CellState, ...]
"""The state of each layer."""

FixedState = State[Tensor, CellStates]
AttendingState = State[Prepared, CellStates]


class FixedContext(Decoder[Tensor, CellStates]):
    """s_t = f(s_{t-1}, y_{t-1}, c) and g(s_t, c, y_{t-1}): one c for all steps, which must hold the
    whole source (Cho et al. 2014, arXiv 1406.1078).

    Shared: c (B, D). Its past: the state of each layer.
    """

    def __init__(self, config: RecurrentConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.forwards = config.forwards
        self.words = _words(config, tokens)
        self.stack = _stack(config, inputs=2 * config.width)
        self.readout = linear(3 * config.width, config.width)
        self.dropout = Dropout(config.dropout)

    def start(self, encoded: Encoded) -> FixedState:
        c = ends(encoded.output, encoded.mask, self.forwards)
        return State(shared=c, past=self.stack.start(c))

    def forward(self, tokens: Tensor, state: FixedState) -> tuple[Tensor, FixedState]:
        y = self.words(tokens)  # (R, T, D)
        c = state.shared.repeat_interleave(state.copies, dim=0)[:, None].expand_as(y)
        s, past = self.stack(torch.cat([y, c], dim=-1), state.past)
        read = self.readout(torch.cat([s, c, y], dim=-1)).tanh()
        return self.dropout(read), state.advance(past, by=tokens.shape[1])


class AttentionBefore(Decoder[Prepared, CellStates]):
    """c_t is what s_{t-1} attends to in the source; s_t = f(s_{t-1}, y_{t-1}, c_t) and
    g(s_t, c_t, y_{t-1}) (Bahdanau et al. 2014, arXiv 1409.0473).

    Shared: the source as the attention prepared it. Its past: the state of each layer.
    """

    def __init__(self, config: RecurrentConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.forwards = config.forwards
        self.words = _words(config, tokens)
        self.attention = SourceAttention(build_score(config.score, config.width))
        self.stack = _stack(config, inputs=2 * config.width)
        self.readout = linear(3 * config.width, config.width)
        self.dropout = Dropout(config.dropout)

    def start(self, encoded: Encoded) -> AttendingState:
        prepared = self.attention.prepare(encoded.output, encoded.mask)
        c = ends(encoded.output, encoded.mask, self.forwards)
        return State(shared=prepared, past=self.stack.start(c))

    def forward(self, tokens: Tensor, state: AttendingState) -> tuple[Tensor, AttendingState]:
        past = state.past
        y = self.words(tokens)  # (R, T, D)
        entered, of_context = self.stack.split(y)
        found, written = [], []
        for known in entered:
            c = self.attention(past[-1][0][:, None], state.shared)  # (R, 1, D)
            s, past = self.stack.step(torch.addmm(known, c[:, 0], of_context), past)
            found.append(c)
            written.append(s)
        self.attention.join(len(entered))
        s_c_y = torch.cat([torch.cat(written, dim=1), torch.cat(found, dim=1), y], dim=-1)
        return self.dropout(self.readout(s_c_y).tanh()), state.advance(past, by=len(entered))


class AttentionAfter(Decoder[Prepared, CellStates]):
    """s_t = f(s_{t-1}, y_{t-1}); a_t is what s_t attends to in the source; tanh(W [a_t; s_t])
    (Luong et al. 2015, arXiv 1508.04025).

    Shared: the source as the attention prepared it. Its past: the state of each layer.
    """

    def __init__(self, config: RecurrentConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.forwards = config.forwards
        self.words = _words(config, tokens)
        self.stack = _stack(config, inputs=config.width)
        self.attention = SourceAttention(build_score(config.score, config.width))
        self.readout = linear(2 * config.width, config.width)
        self.dropout = Dropout(config.dropout)

    def start(self, encoded: Encoded) -> AttendingState:
        prepared = self.attention.prepare(encoded.output, encoded.mask)
        c = ends(encoded.output, encoded.mask, self.forwards)
        return State(shared=prepared, past=self.stack.start(c))

    def forward(self, tokens: Tensor, state: AttendingState) -> tuple[Tensor, AttendingState]:
        s, past = self.stack(self.words(tokens), state.past)
        a = self.attention(s, state.shared)  # (R, T, D)
        read = self.readout(torch.cat([a, s], dim=-1)).tanh()
        return self.dropout(read), state.advance(past, by=tokens.shape[1])


class FedPast(NamedTuple):
    cells: CellStates
    fed: Tensor  # r (R, D)


FeedingState = State[Prepared, FedPast]


class InputFeeding(Decoder[Prepared, FedPast]):
    """Attention after the step, whose result r_t = tanh(W [a_t; s_t]) enters the next step:
    s_t = f(s_{t-1}, y_{t-1}, r_{t-1}) (Luong et al. 2015, arXiv 1508.04025, section 3.3).

    Shared: the source as the attention prepared it. Its past: the state of each layer, and r.
    """

    def __init__(self, config: RecurrentConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.forwards = config.forwards
        self.words = _words(config, tokens)
        self.stack = _stack(config, inputs=2 * config.width)
        self.attention = SourceAttention(build_score(config.score, config.width))
        self.readout = linear(2 * config.width, config.width)
        self.dropout = Dropout(config.dropout)

    def start(self, encoded: Encoded) -> FeedingState:
        prepared = self.attention.prepare(encoded.output, encoded.mask)
        c = ends(encoded.output, encoded.mask, self.forwards)
        return State(shared=prepared, past=FedPast(self.stack.start(c), torch.zeros_like(c)))

    def forward(self, tokens: Tensor, state: FeedingState) -> tuple[Tensor, FeedingState]:
        past, r = state.past
        entered, of_fed = self.stack.split(self.words(tokens))
        read = []
        for known in entered:
            s, past = self.stack.step(torch.addmm(known, r, of_fed), past)
            a = self.attention(s, state.shared)  # (R, 1, D)
            r = self.readout(torch.cat([a, s], dim=-1)[:, 0]).tanh()
            read.append(r)
        self.attention.join(len(entered))
        after = state.advance(FedPast(past, r), by=len(entered))
        return self.dropout(torch.stack(read, dim=1)), after


def _words(config: RecurrentConfig, tokens: nn.Embedding) -> Embedding:
    """Recurrence knows the order of its input, so no position is added."""
    return Embedding(tokens, Position(), config.dropout, config.token_dropout)


def _stack(config: RecurrentConfig, inputs: int) -> Stack:
    layers = config.decoder_layers or config.layers
    return Stack(config.cell, inputs, config.width, layers, config.residual, config.dropout)
