"""Pointer networks (Vinyals et al. 2015, arXiv 1506.03134): a line of points is read, and indices
of them are written, by attention that is itself the distribution over the points."""

from __future__ import annotations

from typing import Literal, NamedTuple, Optional, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import MAX_LAYERS, MAX_WIDTH
from regard.data.annotations import Kinds, Numbers
from regard.data.batch import BOS, EOS, UNKNOWN, Padded
from regard.metrics.table import Writes
from regard.models.base import (
    DECODER_LAYERS,
    KIND,
    Decoder,
    Encoder,
    EncoderDecoder,
    Family,
)
from regard.nn.blocks import BlockConfig, SelfLayer
from regard.nn.dropout import Dropout
from regard.nn.linear import Linear
from regard.nn.mixers.context import FullSequence
from regard.nn.modules import Modules
from regard.nn.norm import build_norm
from regard.nn.pointing import Pointing
from regard.nn.recurrent import (
    CellKind,
    CellState,
    RecurrentLayer,
    Stack,
    ends,
    reversed_positions,
)
from regard.nn.scores import ScoreKind, build_score
from regard.nn.state import Encoded, State


class PointerConfig(Family):
    """By default a bidirectional LSTM followed by self-attention; with attention_layers=0 and
    feed=point it is the network of the paper, apart from reading in both directions."""

    kind: Literal["pointer"] = Field(default="pointer", description=KIND)
    numbers: int = Field(
        default=2, ge=1, le=1000, description="Numbers of each source word, such as 2 for x,y."
    )
    cell: CellKind = Field(default="lstm", description="Recurrent cell.")
    layers: int = Field(default=1, ge=1, le=4, description="Recurrent layers of the encoder.")
    decoder_layers: Optional[int] = Field(default=None, ge=1, le=4, description=DECODER_LAYERS)
    attention_layers: int = Field(
        default=2,
        ge=0,
        le=MAX_LAYERS,
        description="Self-attention layers of the encoder, after the recurrent ones.",
    )
    heads: int = Field(
        default=4, le=MAX_WIDTH, ge=1, description="Attention heads; must divide the width."
    )
    width: int = Field(default=128, ge=2, le=MAX_WIDTH, description="Size of the hidden vectors.")
    inner: int = Field(
        default=256,
        ge=0,
        le=MAX_WIDTH,
        description="Hidden size of the feed-forward network; 0: no network.",
    )
    score: ScoreKind = Field(
        default="additive", description="How the score of each source position is computed."
    )
    feed: Literal["point", "encoded"] = Field(
        default="encoded",
        description="What the decoder reads of the position chosen last: the point itself, or what "
        "the encoder made of it.",
    )
    dropout: float = Field(default=0.0, ge=0, lt=1, description="Dropout probability.")
    tying: Literal["none"] = Field(
        default="none", description="None are shared: there are no embeddings."
    )

    @model_validator(mode="after")
    def _fits(self) -> PointerConfig:
        if self.width % 2:
            raise ValueError("a bidirectional encoder needs an even width")
        self.block.check_width()
        return self

    @property
    def block(self) -> BlockConfig:
        """The settings of the self-attention layers: recurrence knows the order, so they add no
        positions, and lines may be longer than those of training."""
        return BlockConfig(
            width=self.width,
            inner=self.inner,
            heads=self.heads,
            position="none",
            dropout=self.dropout,
        )

    def last_norm(self) -> nn.Module:
        """After the encoder; recurrent layers alone need none."""
        return self.block.last_norm() if self.attention_layers else build_norm("none", self.width)

    @property
    def annotations(self) -> Kinds:
        return (Numbers(self.numbers),)

    @property
    def writes(self) -> Writes:
        return "indices"

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        """The sizes of the vocabularies do not matter: every word is a point."""
        return EncoderDecoder(
            PointEncoder(self),
            PointDecoder(self),
            Pointing(build_score(self.score, self.width)),
            writes=self.writes,
        )

    @classmethod
    def miniatures(cls) -> list[PointerConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(width=16, heads=2, inner=24)
        return [
            small,
            small.changed(cell="gru", attention_layers=0, feed="point", layers=2),
            small.changed(score="dot", numbers=3, decoder_layers=2, inner=0),
            small.changed(cell="rnn", score="multiplicative", attention_layers=1),
        ]


class PointEncoder(Encoder):
    """Each point as a vector, read in both directions, then related to all others.

    EOS has a vector of its own. `final` is what the decoder reads of a position that was chosen.
    """

    def __init__(self, config: PointerConfig) -> None:
        super().__init__()
        # with torch's own initialisation, which is wider than Glorot's for so few inputs, a network
        # learns several times as fast
        self.points = Linear(config.numbers, config.width)
        self.end = nn.Parameter(torch.randn(config.width) * config.width**-0.5)
        self.recurrent = Modules(
            RecurrentLayer(config.cell, config.width, config.width // 2)
            for _ in range(config.layers)
        )
        self.attentive = Modules(
            SelfLayer(config.block, "full", number) for number in range(config.attention_layers)
        )
        self.norm = config.last_norm()
        self.dropout = Dropout(config.dropout)
        self.feed = config.feed

    def forward(self, source: Padded) -> Encoded:
        mask, numbers = source.mask, source.annotations[Numbers.name]
        is_end = (source.values == EOS)[:, :, None]
        points = torch.where(is_end, self.end, self.points(numbers))  # (B, S, D)
        x, backwards, sequence = points, reversed_positions(mask), FullSequence(mask)
        for recurrent in self.recurrent:
            x = x + recurrent(self.dropout(x), backwards)
        for attentive in self.attentive:
            x = attentive(x, sequence)
        x = self.dropout(self.norm(x, sequence))
        return Encoded(x, mask, final=points if self.feed == "point" else x)


class Read(NamedTuple):
    """What the decoder keeps of the source."""

    fed: Tensor  # (B, S, D) what it reads of a position that was chosen
    end: Tensor  # (B,) the position of EOS


PointState = State[Read, tuple[CellState, ...]]


class PointDecoder(Decoder[Read, tuple[CellState, ...]]):
    """s_t = f(s_{t-1}, x_j) where j is the position chosen last, or a learned vector at first.

    Shared: the source, to read x_j from. Its past: the state of each layer.
    """

    def __init__(self, config: PointerConfig) -> None:
        super().__init__()
        self.begin = nn.Parameter(torch.randn(config.width) * config.width**-0.5)
        layers = config.decoder_layers or config.layers
        sizes = config.width, config.width, layers
        self.stack = Stack(config.cell, *sizes, residual=layers > 1, dropout=config.dropout)
        self.dropout = Dropout(config.dropout)

    def start(self, encoded: Encoded) -> PointState:
        read = Read(cast(Tensor, encoded.final), encoded.mask.sum(dim=1) - 1)
        ended = ends(encoded.output, encoded.mask, encoded.output.shape[2] // 2)
        return State(shared=read, past=self.stack.start(ended))

    def forward(self, tokens: Tensor, state: PointState) -> tuple[Tensor, PointState]:
        s, past = self.stack(self._chosen(tokens, state.shared), state.past)
        return self.dropout(s), state.advance(past, by=tokens.shape[1])

    def _chosen(self, tokens: Tensor, read: Read) -> Tensor:
        """tokens (B x copies, T) to what is read of them (B x copies, T, D)."""
        of_sentence = tokens.reshape(len(read.fed), -1)  # (B, copies x T)
        positions = torch.where(of_sentence == EOS, read.end[:, None], of_sentence - UNKNOWN - 1)
        positions = positions.clamp(0, read.fed.shape[1] - 1)  # of BOS, which is replaced
        width = read.fed.shape[2]
        found = read.fed.gather(1, positions[:, :, None].expand(-1, -1, width))
        found = found.reshape(*tokens.shape, width)
        return torch.where((tokens == BOS)[:, :, None], self.begin, found)
