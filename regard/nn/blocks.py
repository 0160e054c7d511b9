"""The blocks of the Transformer; each forward reads like the figure of the paper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Literal, Optional

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.config import MAX_COUNT, MAX_WIDTH, Settings
from regard.nn.attention import (
    CrossAttention,
    KeysValues,
    PositionalAttention,
    additive_mask,
    join_heads,
    split_heads,
)
from regard.nn.dropout import Dropout
from regard.nn.linear import linear
from regard.nn.mixers import MixerKind, MixerSizes, build_mixer
from regard.nn.mixers.base import Cache, Looks, Mixer
from regard.nn.mixers.context import FullSequence, NextTokens, Positions
from regard.nn.norm import Normalisation, build_norm
from regard.nn.position import Position, PositionKind, input_position, score_position

Placement = Literal["pre", "post"]
Activation = Literal["relu", "swish", "gelu"]

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "swish": functional.silu,
    "gelu": functional.gelu,
}


class Embedding(nn.Module):
    """Token vectors times sqrt(width), plus their positions.

    In training some tokens may be dropped, so that a line is not recognised by a few of its words
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

    def forward(self, tokens: Tensor, start: int = 0, beside: Optional[Tensor] = None) -> Tensor:
        """tokens (B, T) whose first column is at position `start`, to (B, T, D); what is known of
        each beside its id (B, T, D) is added."""
        x = self.token_dropout.vectors(self.tokens(tokens) * self.scale)
        x = x if beside is None else x + beside
        return self.dropout(self.position.add(x, start))


class BlockConfig(Settings):
    """What all layers of a stack have in common; it makes their parts."""

    width: int = Field(default=128, ge=2, le=MAX_WIDTH, description="Size of the hidden vectors.")
    inner: int = Field(
        default=256,
        ge=0,
        le=MAX_WIDTH,
        description="Hidden size of the feed-forward network; 0: no network.",
    )
    activation: Activation = Field(
        default="relu", description="Non-linear function of the feed-forward network."
    )
    heads: int = Field(
        default=4, le=MAX_WIDTH, ge=1, description="Attention heads; must divide the width."
    )
    mixing: MixerSizes = Field(
        default=MixerSizes(), description="Sizes of the mixers other than full."
    )
    scale_scores: bool = Field(
        default=True, description="Divide attention scores by the square root of a head's width."
    )
    residual: bool = Field(default=True, description="Residual connections around sub-layers.")
    normalisation: Normalisation = Field(default="layer", description="Kind of normalisation.")
    norm: Placement = Field(
        default="pre", description="Normalise before each sub-layer (pre) or after it (post)."
    )
    position: PositionKind = Field(
        default="sinusoidal", description="How positions are encoded; syntax reads --trees."
    )
    max_length: int = Field(
        default=1024,
        ge=2,
        le=MAX_COUNT,
        description="Maximum number of positions; for learned positions and the linformer mixer "
        "only.",
    )
    max_distance: int = Field(
        default=16,
        ge=1,
        le=MAX_COUNT,
        description="shaw, syntax: larger distances count as this one.",
    )
    scale_embeddings: bool = Field(
        default=True, description="Multiply embeddings by the square root of the width."
    )
    dropout: float = Field(default=0.1, ge=0, lt=1, description="Dropout probability.")
    token_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Probability of dropping a whole input token."
    )

    def check_width(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be split among {self.heads} heads")
        if self.width % 2 or (self.position == "rotary" and self.width // self.heads % 2):
            raise ValueError("positions need an even width, rotary ones an even width of each head")
        if self.position == "concatenated" and self.width % 4:
            raise ValueError("concatenated positions need a width that is a multiple of 4")

    def refuse_for_cell(self, names: Iterable[str], cell: str) -> None:
        """Refuse settings that a recurrent cell does not have, unless they have their defaults."""
        for name in names:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"'{name}' is for cell=attention only, not {cell}")

    def embedding(self, tokens: nn.Embedding) -> Embedding:
        position = input_position(self.position, self.width, self.max_length)
        return Embedding(tokens, position, self.dropout, self.token_dropout, self.scale_embeddings)

    def self_attention(self, kind: MixerKind, number: int, looks: Looks) -> Mixing:
        """`number` is that of the layer, `looks` the axes that a probe is told."""
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
            looks,
            self.scale_scores,
            self.max_length,
            number,
        )
        return SelfAttention(self.width, self.heads, mixer)

    def source_attention(self) -> CrossAttention:
        return CrossAttention(self.width, self.heads, self.scale_scores)

    def position_attention(self) -> PositionalAttention:
        return PositionalAttention(self.width, self.heads, self.scale_scores)

    def feed_forward(self) -> AnyFeedForward:
        if not self.inner:
            return NoFeedForward()
        return FeedForward(self.width, self.inner, self.activation)

    def residual_connection(self, present: bool = True) -> Residual:
        """What surrounds a sub-layer, if there is one."""
        return AddNorm(self) if present else NoResidual()

    def last_norm(self) -> nn.Module:
        """After all layers: with pre-norm nothing else has normalised their sum."""
        return build_norm(self.normalisation if self.norm == "pre" else "none", self.width)


ATTENTION_ONLY = tuple(
    name
    for name in BlockConfig.model_fields
    if name not in ("width", "residual", "dropout", "token_dropout")
)
"""Settings that no recurrent cell has; whether there are residual connections depends on the
family."""


class Residual(nn.Module, ABC):
    """What is done before and after a sub-layer f."""

    @abstractmethod
    def enter(self, x: Tensor, positions: Positions) -> Tensor:
        """What f is given."""

    @abstractmethod
    def leave(self, x: Tensor, y: Tensor, positions: Positions) -> Tensor:
        """What follows from x and y = f(enter(x))."""


class AddNorm(Residual):
    """Residual connection and normalisation around a sub-layer f.

    post, as in the paper: norm(x + f(x)); pre, which trains more easily: x + f(norm(x))
    (Xiong et al. 2020, arXiv 2002.04745). Without the residual connection x + is left out.
    """

    def __init__(self, config: BlockConfig) -> None:
        super().__init__()
        self.norm = build_norm(config.normalisation, config.width)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm == "pre"
        self.residual = config.residual

    def enter(self, x: Tensor, positions: Positions) -> Tensor:
        return self.norm(x, positions) if self.pre else x

    def leave(self, x: Tensor, y: Tensor, positions: Positions) -> Tensor:
        x = self.dropout.add(x, y) if self.residual else self.dropout(y)
        return x if self.pre else self.norm(x, positions)


class NoResidual(Residual):
    """There is no sub-layer here."""

    def enter(self, x: Tensor, positions: Positions) -> Tensor:
        return x

    def leave(self, x: Tensor, y: Tensor, positions: Positions) -> Tensor:
        return x


class Mixing(nn.Module, ABC):
    """The sub-layer in which the positions of one sequence look at each other."""

    uses_columns = False

    @abstractmethod
    def forward(self, x: Tensor, sequence: FullSequence) -> Tensor:
        """x (B, S, D), a whole sequence, as an encoder reads it."""

    @abstractmethod
    def start(self, like: Tensor) -> Cache:
        """The cache before anything is read: as many rows as `like`, of its device and type."""

    @abstractmethod
    def read(self, x: Tensor, cache: Cache, tokens: NextTokens) -> tuple[Tensor, Cache]:
        """x (B x copies, T, D): the next T positions of each hypothesis, as a decoder reads."""


class SelfAttention(Mixing):
    """Queries, keys and values of one sequence, mixed in one of several ways."""

    def __init__(self, width: int, heads: int, mixer: Mixer) -> None:
        super().__init__()
        self.heads = heads
        self.project = linear(width, 3 * width, parts=3)
        self.core = mixer
        self.output = linear(width, width)
        self.uses_columns = mixer.uses_columns

    def _project(self, x: Tensor, start: int) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = split_heads(self.project(x), self.heads, 3)
        rotate = self.core.position.rotate
        return rotate(query, start), rotate(key, start), value

    def forward(self, x: Tensor, sequence: FullSequence) -> Tensor:
        return self.output(join_heads(self.core(*self._project(x, 0), sequence)))

    def start(self, like: Tensor) -> Cache:
        return self.core.start(like)

    def read(self, x: Tensor, cache: Cache, tokens: NextTokens) -> tuple[Tensor, Cache]:
        mixed, cache = self.core.read(*self._project(x, tokens.start), cache, tokens)
        return self.output(join_heads(mixed)), cache


class NoMixing(Mixing):
    """Each position is left to itself."""

    def forward(self, x: Tensor, sequence: FullSequence) -> Tensor:
        return x

    def start(self, like: Tensor) -> Cache:
        return Cache()

    def read(self, x: Tensor, cache: Cache, tokens: NextTokens) -> tuple[Tensor, Cache]:
        return x, cache


class AnyFeedForward(nn.Module, ABC):
    """The second sub-layer, which is told where padding is."""

    @abstractmethod
    def forward(self, x: Tensor, positions: Positions) -> Tensor:
        """x (B, T, D) to (B, T, D)."""


class FeedForward(AnyFeedForward):
    """f(x W1 + b1) W2 + b2, at each position separately, where f is max(0, x), x sigmoid(x)
    (swish) or x Phi(x) (gelu)."""

    def __init__(self, width: int, inner: int, activation: Activation = "relu") -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.expand = linear(width, inner)
        self.contract = linear(inner, width)

    def forward(self, x: Tensor, positions: Positions) -> Tensor:
        return self.contract(self.activation(self.expand(x)))


class NoFeedForward(AnyFeedForward):
    """Vectors as they are."""

    def forward(self, x: Tensor, positions: Positions) -> Tensor:
        return x


class SelfLayer(nn.Module):
    """Self-attention, then a feed-forward network: a layer of an encoder, which sees the whole
    sequence, or of a language model, which reads token by token."""

    def __init__(
        self,
        config: BlockConfig,
        mixer: MixerKind,
        number: int,
        looks: Looks = ("source", "source"),
    ) -> None:
        super().__init__()
        self.attention = config.self_attention(mixer, number, looks)
        self.feed_forward = config.feed_forward()
        self.attention_residual = config.residual_connection(mixer != "none")
        self.feed_forward_residual = config.residual_connection(config.inner > 0)

    def forward(self, x: Tensor, sequence: FullSequence) -> Tensor:
        """x (B, S, D)."""
        y = self.attention(self.attention_residual.enter(x, sequence), sequence)
        x = self.attention_residual.leave(x, y, sequence)
        y = self.feed_forward(self.feed_forward_residual.enter(x, sequence), sequence)
        return self.feed_forward_residual.leave(x, y, sequence)

    def read(self, x: Tensor, cache: Cache, tokens: NextTokens) -> tuple[Tensor, Cache]:
        """x (B x copies, T, D), and the cache of earlier positions."""
        y = self.attention_residual.enter(x, tokens)
        y, cache = self.attention.read(y, cache, tokens)
        x = self.attention_residual.leave(x, y, tokens)
        y = self.feed_forward(self.feed_forward_residual.enter(x, tokens), tokens)
        return self.feed_forward_residual.leave(x, y, tokens), cache


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, attention over the source, feed-forward."""

    def __init__(self, config: BlockConfig, mixer: MixerKind, number: int) -> None:
        super().__init__()
        self.attention = config.self_attention(mixer, number, ("read", "read"))
        self.source_attention = config.source_attention()
        self.feed_forward = config.feed_forward()
        self.attention_residual = config.residual_connection(mixer != "none")
        self.source_residual = config.residual_connection()
        self.feed_forward_residual = config.residual_connection(config.inner > 0)

    def forward(
        self, x: Tensor, source: KeysValues, mask: Tensor, cache: Cache, tokens: NextTokens
    ) -> tuple[Tensor, Cache]:
        """x (B x copies, T, D), the source's keys and values, the mask (B, 1, 1, S) that hides
        its padding, and the cache of earlier positions."""
        y = self.attention_residual.enter(x, tokens)
        y, cache = self.attention.read(y, cache, tokens)
        x = self.attention_residual.leave(x, y, tokens)
        y = self.source_attention(self.source_residual.enter(x, tokens), source, mask)
        x = self.source_residual.leave(x, y, tokens)
        y = self.feed_forward(self.feed_forward_residual.enter(x, tokens), tokens)
        return self.feed_forward_residual.leave(x, y, tokens), cache


class ParallelLayer(nn.Module):
    """Self-attention over the whole target, attention by position, attention over the source,
    feed-forward: a decoder layer that reads all positions at once (Gu et al. 2017,
    arXiv 1711.02281)."""

    def __init__(self, config: BlockConfig, number: int) -> None:
        super().__init__()
        self.attention = config.self_attention("full", number, ("target", "target"))
        self.position_attention = config.position_attention()
        self.source_attention = config.source_attention()
        self.feed_forward = config.feed_forward()
        self.attention_residual = config.residual_connection()
        self.position_residual = config.residual_connection()
        self.source_residual = config.residual_connection()
        self.feed_forward_residual = config.residual_connection(config.inner > 0)

    def forward(self, x: Tensor, target: FullSequence, encoded: Tensor, mask: Tensor) -> Tensor:
        """x (B, T, D), the encoded source (B, S, D) and the mask (B, 1, 1, S) that hides its
        padding."""
        y = self.attention(self.attention_residual.enter(x, target), target)
        x = self.attention_residual.leave(x, y, target)
        padding = target.once("padding", lambda: additive_mask(~target.real)[:, None, None])
        y = self.position_attention(self.position_residual.enter(x, target), padding)
        x = self.position_residual.leave(x, y, target)
        source = self.source_attention.prepare(encoded)
        y = self.source_attention(self.source_residual.enter(x, target), source, mask)
        x = self.source_residual.leave(x, y, target)
        y = self.feed_forward(self.feed_forward_residual.enter(x, target), target)
        return self.feed_forward_residual.leave(x, y, target)
