"""The blocks of the Transformer; each forward reads like the figure of the paper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.config import Settings
from regard.nn.attention import CrossAttention, KeysValues, join_heads, scale_ahead, split_heads
from regard.nn.dropout import Dropout
from regard.nn.linear import linear
from regard.nn.mixers import MixerKind, MixerSizes, build_mixer
from regard.nn.mixers.base import Cache, Mixer
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.norm import Normalisation, build_norm
from regard.nn.position import Position, PositionKind, input_position, score_position

Placement = Literal["pre", "post"]


class Embedding(nn.Module):
    """Token vectors times sqrt(width), plus where they stand.

    In training some tokens may be left out, so that a line is not known by a few of its words
    (Iyyer et al. 2015; for translation from few pairs Sennrich & Zhang 2019, arXiv 1905.11901).
    """

    def __init__(
        self,
        tokens: nn.Embedding,
        position: Position,
        dropout: float,
        token_dropout: float = 0.0,
        scaled: bool = True,
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.position = position
        self.token_dropout = Dropout(token_dropout)
        self.dropout = Dropout(dropout)
        self.scale = tokens.embedding_dim**0.5 if scaled else 1.0

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:
        """tokens (B, T) whose first column stands at `start`, to (B, T, D)."""
        x = self.token_dropout.places(self.tokens(tokens) * self.scale)
        return self.dropout(self.position.add(x, start))


class BlockConfig(Settings):
    """What all layers of a stack have in common; it makes their parts."""

    width: int = Field(default=128, ge=2)
    inner: int = Field(default=256, ge=0)  # 0: no feed-forward network
    heads: int = Field(default=4, ge=1)
    mixing: MixerSizes = MixerSizes()
    scale_scores: bool = True  # by 1 / sqrt of a head's width
    residual: bool = True
    normalisation: Normalisation = "layer"
    norm: Placement = "pre"
    position: PositionKind = "sinusoidal"
    max_length: int = Field(default=1024, ge=1)  # for learned positions and linformer alone
    max_distance: int = Field(default=16, ge=1)  # for shaw, syntax: beyond it all is equally far
    scale_embeddings: bool = True
    dropout: float = Field(default=0.1, ge=0, lt=1)
    token_dropout: float = Field(default=0.0, ge=0, lt=1)  # of whole tokens that are read

    def check_width(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be split among {self.heads} heads")
        if self.width % 2 or (self.position == "rotary" and self.width // self.heads % 2):
            raise ValueError("positions need an even width, rotary ones an even width of each head")

    def embedding(self, tokens: nn.Embedding) -> Embedding:
        position = input_position(self.position, self.width, self.max_length)
        return Embedding(tokens, position, self.dropout, self.token_dropout, self.scale_embeddings)

    def self_attention(self, kind: MixerKind, number: int) -> Mixing:
        if kind == "none":
            return NoMixing()
        width = self.width // self.heads
        position = score_position(self.position, self.heads, width, self.max_distance)
        mixer = build_mixer(
            kind,
            self.mixing,
            self.heads,
            width,
            position,
            self.scale_scores,
            self.max_length,
            number,
        )
        return SelfAttention(self.width, self.heads, mixer)

    def source_attention(self) -> CrossAttention:
        return CrossAttention(self.width, self.heads, self.scale_scores)

    def feed_forward(self) -> nn.Module:
        return FeedForward(self.width, self.inner) if self.inner else nn.Identity()

    def residual_connection(self, anything: bool = True) -> Residual:
        """What stands around a sub-layer, if there is one."""
        return AddNorm(self) if anything else NoResidual()

    def last_norm(self) -> nn.Module:
        """After all layers: with pre-norm nothing else has normalised their sum."""
        return build_norm(self.normalisation if self.norm == "pre" else "none", self.width)


class Residual(nn.Module, ABC):
    """What is done before and after a sub-layer f; real (B, T) is false at padding."""

    @abstractmethod
    def enter(self, x: Tensor, places: FullSequence | NextTokens) -> Tensor:
        """What f is given."""

    @abstractmethod
    def leave(self, x: Tensor, y: Tensor, places: FullSequence | NextTokens) -> Tensor:
        """What follows from x and y = f(enter(x))."""


class AddNorm(Residual):
    """Residual connection and normalisation around a sub-layer f.

    post, as in the paper: norm(x + f(x)); pre, which trains more easily: x + f(norm(x))
    (Xiong et al. 2020, arXiv 2002.04745). Without the residual connection x + is left out.
    """

    def __init__(self, anatomy: BlockConfig) -> None:
        super().__init__()
        self.norm = build_norm(anatomy.normalisation, anatomy.width)
        self.dropout = Dropout(anatomy.dropout)
        self.pre = anatomy.norm == "pre"
        self.residual = anatomy.residual

    def enter(self, x: Tensor, places: FullSequence | NextTokens) -> Tensor:
        return self.norm(x, places) if self.pre else x

    def leave(self, x: Tensor, y: Tensor, places: FullSequence | NextTokens) -> Tensor:
        x = self.dropout.add(x, y) if self.residual else self.dropout(y)
        return x if self.pre else self.norm(x, places)


class NoResidual(Residual):
    """There is no sub-layer here."""

    def enter(self, x: Tensor, places: FullSequence | NextTokens) -> Tensor:
        return x

    def leave(self, x: Tensor, y: Tensor, places: FullSequence | NextTokens) -> Tensor:
        return x


class Mixing(nn.Module, ABC):
    """The sub-layer in which the places of one sequence look at each other."""

    uses_columns = False

    @abstractmethod
    def forward(self, x: Tensor, places: FullSequence) -> Tensor:
        """x (B, S, D), a whole sequence, as an encoder reads it."""

    @abstractmethod
    def start(self, rows: int) -> Cache: ...

    @abstractmethod
    def read(self, x: Tensor, memory: Cache, reading: NextTokens) -> tuple[Tensor, Cache]:
        """x (B x copies, T, D) are the next T places of each hypothesis, as a decoder reads."""


class SelfAttention(Mixing):
    """Queries, keys and values of one sequence, mixed in one of several ways."""

    def __init__(self, width: int, heads: int, mixer: Mixer) -> None:
        super().__init__()
        self.heads = heads
        self.project = linear(width, 3 * width, parts=3)
        self.core = mixer
        self.output = linear(width, width)
        self.uses_columns = mixer.uses_columns

    def scale_ahead(self) -> None:
        """Let queries come scaled from their map, for search; not to train with."""
        if self.core.scaled:
            scale_ahead(self.project, self.output.in_features, self.heads)
            self.core.scaled = False

    def _project(self, x: Tensor, start: int) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = split_heads(self.project(x), self.heads, 3)
        rotate = self.core.position.rotate
        return rotate(query, start), rotate(key, start), value

    def forward(self, x: Tensor, places: FullSequence) -> Tensor:
        return self.output(join_heads(self.core(*self._project(x, 0), places)))

    def start(self, rows: int) -> Cache:
        return self.core.start(rows)

    def read(self, x: Tensor, memory: Cache, reading: NextTokens) -> tuple[Tensor, Cache]:
        mixed, memory = self.core.read(*self._project(x, reading.start), memory, reading)
        return self.output(join_heads(mixed)), memory


class NoMixing(Mixing):
    """Each place keeps to itself."""

    def forward(self, x: Tensor, places: FullSequence) -> Tensor:
        return x

    def start(self, rows: int) -> Cache:
        return Cache()

    def read(self, x: Tensor, memory: Cache, reading: NextTokens) -> tuple[Tensor, Cache]:
        return x, memory


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, at each place by itself."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.expand = linear(width, inner)
        self.contract = linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(torch.relu(self.expand(x)))


class SelfLayer(nn.Module):
    """Self-attention, then a feed-forward network: a layer of an encoder, which sees the whole
    sequence, or of a language model, which reads on."""

    def __init__(self, anatomy: BlockConfig, mixer: MixerKind, number: int) -> None:
        super().__init__()
        self.attention = anatomy.self_attention(mixer, number)
        self.feed_forward = anatomy.feed_forward()
        self.attention_residual = anatomy.residual_connection(mixer != "none")
        self.feed_forward_residual = anatomy.residual_connection(anatomy.inner > 0)

    def forward(self, x: Tensor, places: FullSequence) -> Tensor:
        """x (B, S, D)."""
        y = self.attention(self.attention_residual.enter(x, places), places)
        return self._apply_feed_forward(self.attention_residual.leave(x, y, places), places)

    def read(self, x: Tensor, memory: Cache, reading: NextTokens) -> tuple[Tensor, Cache]:
        """x (B x copies, T, D), and what is remembered of earlier places."""
        y = self.attention_residual.enter(x, reading)
        y, memory = self.attention.read(y, memory, reading)
        return self._apply_feed_forward(
            self.attention_residual.leave(x, y, reading), reading
        ), memory

    def _apply_feed_forward(self, x: Tensor, places: FullSequence | NextTokens) -> Tensor:
        y = self.feed_forward(self.feed_forward_residual.enter(x, places))
        return self.feed_forward_residual.leave(x, y, places)


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, attention over the source, feed-forward."""

    def __init__(self, anatomy: BlockConfig, mixer: MixerKind, number: int) -> None:
        super().__init__()
        self.attention = anatomy.self_attention(mixer, number)
        self.source_attention = anatomy.source_attention()
        self.feed_forward = anatomy.feed_forward()
        self.attention_residual = anatomy.residual_connection(mixer != "none")
        self.source_residual = anatomy.residual_connection()
        self.feed_forward_residual = anatomy.residual_connection(anatomy.inner > 0)

    def forward(
        self, x: Tensor, source: KeysValues, mask: Tensor, memory: Cache, reading: NextTokens
    ) -> tuple[Tensor, Cache]:
        """x (B x copies, T, D), the source's keys and values and the mask (B, 1, 1, S) that hides
        its padding, and what is remembered of earlier places."""
        y = self.attention_residual.enter(x, reading)
        y, memory = self.attention.read(y, memory, reading)
        x = self.attention_residual.leave(x, y, reading)
        y = self.source_attention(self.source_residual.enter(x, reading), source, mask)
        x = self.source_residual.leave(x, y, reading)
        y = self.feed_forward(self.feed_forward_residual.enter(x, reading))
        return self.feed_forward_residual.leave(x, y, reading), memory
