"""Tagging, where each word of a line gets a tag, and classification, where a line gets a label."""

from __future__ import annotations

from abc import ABC
from typing import Literal, Optional

from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import MAX_LAYERS, MAX_WIDTH
from regard.data.annotations import DependencyTree, Kinds, Letters, WordIndex
from regard.data.batch import Padded
from regard.metrics.table import Writes
from regard.models.base import KIND, LAYERS, NO_TYING, Encoder, Family
from regard.models.labeller import Labeller
from regard.models.recurrent import RecurrentConfig, RecurrentEncoder
from regard.models.transformer import TransformerEncoder
from regard.nn.blocks import ATTENTION_ONLY, AnyFeedForward, BlockConfig
from regard.nn.convolution import ConvolutionalFeedForward
from regard.nn.embedding import embed
from regard.nn.mixers import MixerKind, MixerSizes, check_mixers, in_turn
from regard.nn.output import Projection
from regard.nn.pooling import EvenMean, LearnedMean, PoolingKind, average_groups, maximum
from regard.nn.probe import Watched
from regard.nn.spelling import Spelling
from regard.nn.state import Encoded


class LabellingConfig(BlockConfig, Family, ABC):
    """An encoder that reads the whole line: a Transformer's, or by `cell` a bidirectional
    recurrent one. With a `kernel` above 1 its feed-forward network is a convolution."""

    cell: Literal["attention", "rnn", "gru", "lstm"] = Field(
        default="attention",
        description="The encoder: that of a Transformer (attention), or a bidirectional recurrent "
        "network with this cell.",
    )
    layers: int = Field(default=2, ge=1, le=MAX_LAYERS, description=LAYERS)
    mixers: tuple[MixerKind, ...] = Field(
        default=("full",), min_length=1, description="Mixers, repeated over the layers."
    )
    kernel: int = Field(
        default=1,
        ge=1,
        le=31,
        description="Positions that the feed-forward network sees at once: an odd number; above 1 "
        "it is a convolution.",
    )
    letters: int = Field(
        default=0,
        ge=0,
        le=MAX_WIDTH,
        description="Filters over the letters of each word, which are read beside its pieces; 0: "
        "none.",
    )
    smoothing: float = Field(default=0.0, ge=0, lt=1, description="Label smoothing.")
    tying: Literal["none"] = Field(default="none", description=NO_TYING)

    @model_validator(mode="after")
    def _fits(self) -> LabellingConfig:
        if self.kernel % 2 == 0:
            raise ValueError("a convolution of even width has no centre: set an odd kernel")
        if self.kernel > 1 and not self.inner:
            raise ValueError("without a feed-forward network there is no kernel: set inner above 0")
        if self.kernel > 1 and self.activation != "relu":
            raise ValueError("a convolution is followed by relu: set activation=relu or kernel=1")
        if self.cell == "attention":
            self.check_width()
            check_mixers(self.mixers, self.layers, self.position, causal=False)
        else:
            self._check_recurrent()
        return self

    def _check_recurrent(self) -> None:
        self.refuse_for_cell((*ATTENTION_ONLY, "mixers", "kernel"), self.cell)
        if self.width % 2 or self.layers > 4:
            raise ValueError("a bidirectional encoder needs an even width and at most 4 layers")

    @property
    def annotations(self) -> Kinds:
        tree = (DependencyTree(),) if self.position == "syntax" else ()
        return (*tree, Letters()) if self.letters else tree

    @property
    def length_limit(self) -> Optional[int]:
        limited = self.position == "learned" or "linformer" in self.mixers
        return self.max_length if limited else None

    def feed_forward(self) -> AnyFeedForward:
        if self.kernel == 1:
            return super().feed_forward()
        return ConvolutionalFeedForward(self.width, self.inner, self.kernel)

    def _reader(self, source_size: int) -> Encoder:
        tokens = embed(source_size, self.width)
        spelling = Spelling(self.letters, self.width) if self.letters else None
        if self.cell == "attention":
            return TransformerEncoder(self, in_turn(self.mixers, self.layers), tokens, spelling)
        recurrent = RecurrentConfig(
            cell=self.cell,
            layers=self.layers,
            residual=self.residual and self.layers > 1,
            width=self.width,
            dropout=self.dropout,
            token_dropout=self.token_dropout,
        )
        return RecurrentEncoder(recurrent, tokens, spelling)

    def _labeller(self, encoder: Encoder, target_size: int) -> Labeller:
        output = Projection(embed(target_size, self.width).weight, self.smoothing, target_size)
        return Labeller(encoder, output, self.writes, self.length_limit)


class TaggerConfig(LabellingConfig):
    """One tag per word, from the mean of its pieces."""

    kind: Literal["tagger"] = Field(default="tagger", description=KIND)

    @property
    def writes(self) -> Writes:
        return "tags"

    @property
    def annotations(self) -> Kinds:
        return (*super().annotations, WordIndex())

    def build(self, source_size: int, target_size: int) -> Labeller:
        return self._labeller(WordEncoder(self._reader(source_size)), target_size)

    @classmethod
    def miniatures(cls) -> list[TaggerConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(layers=2, width=16, inner=24, heads=2, dropout=0.0)
        sizes = MixerSizes(neighbourhood=3, block=2, random_blocks=1)
        return [
            small.changed(kernel=3),
            small.changed(position="syntax", max_distance=2),
            small.changed(mixers=("window", "bigbird"), mixing=sizes, position="learned"),
            small.changed(letters=12),
            cls(cell="lstm", layers=2, width=16, dropout=0.0),
            cls(cell="gru", layers=1, width=16, dropout=0.0, letters=12),
        ]


class ClassifierConfig(LabellingConfig):
    """One label per line, from all of its positions pooled to one vector."""

    kind: Literal["classifier"] = Field(default="classifier", description=KIND)
    pooling: PoolingKind = Field(
        default="mean",
        description="How a line becomes one vector: mean or maximum of its positions, a mean "
        "weighted by attention, or the first position.",
    )

    @property
    def writes(self) -> Writes:
        return "label"

    def build(self, source_size: int, target_size: int) -> Labeller:
        reader = PooledEncoder(self._reader(source_size), self.pooling, self.width)
        return self._labeller(reader, target_size)

    @classmethod
    def miniatures(cls) -> list[ClassifierConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(layers=1, width=16, inner=24, heads=2, dropout=0.0)
        return [
            small,
            small.changed(pooling="max", kernel=3, norm="post"),
            small.changed(pooling="attention", position="syntax"),
            small.changed(pooling="first", layers=2),
            cls(cell="gru", layers=1, width=16, dropout=0.0, pooling="attention"),
        ]


class WordEncoder(Encoder):
    """The mean of each word's pieces, without EOS: in many languages the last piece of a word says
    most about its tag, in others the first."""

    def __init__(self, pieces: Encoder) -> None:
        super().__init__()
        self.pieces = pieces

    def forward(self, source: Padded) -> Encoded:
        x = self.pieces(source).output
        return Encoded(*average_groups(x, source.annotations[WordIndex.name]))


class PooledEncoder(Encoder):
    """One vector for the whole line, (B, 1, D)."""

    def __init__(self, pieces: Encoder, kind: PoolingKind, width: int) -> None:
        super().__init__()
        self.pieces = pieces
        self.kind = kind
        self.attention = LabelAttention(width) if kind == "attention" else nn.Identity()
        self.mean = EvenMean()

    def forward(self, source: Padded) -> Encoded:
        encoded = self.pieces(source)
        pooled = self._pool(encoded.output, encoded.mask)
        return Encoded(pooled[:, None], encoded.mask[:, :1])

    def _pool(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, D) to (B, D)."""
        match self.kind:
            case "first":
                return x[:, 0]
            case "max":
                return maximum(x, mask)
            case "mean":
                mean: Tensor = self.mean(x, mask)[0]
                return mean
            case "attention":
                found: Tensor = self.attention(x, mask)
                return found


class LabelAttention(Watched):
    """A learned mean that can be watched. The label and the EOS after it have the same weights."""

    def __init__(self, width: int) -> None:
        super().__init__(("target", "source"))
        self.mean = LearnedMean(width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, D) to (B, D)."""
        pooled, weights = self.mean(x, mask)
        self.record_weights(weights[:, None, None].expand(-1, -1, 2, -1))
        found: Tensor = pooled
        return found
