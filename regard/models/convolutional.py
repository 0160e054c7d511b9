"""Convolutional models: ConvS2S, gated and with attention in each layer, and ByteNet, dilated and
without attention. Both remember a fixed number of positions: a step costs the same at any
length."""

from __future__ import annotations

from typing import Literal, NamedTuple, Optional

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from regard.config import MAX_COUNT, MAX_LAYERS, MAX_WIDTH
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
from regard.nn.attention import additive_mask
from regard.nn.blocks import Embedding
from regard.nn.convolution import (
    HALF,
    DilatedBlock,
    GatedConvolution,
    GatedDecoderLayer,
    scale_gradient,
)
from regard.nn.dropout import Dropout
from regard.nn.embedding import share_embeddings
from regard.nn.modules import Modules
from regard.nn.norm import LayerNorm
from regard.nn.position import input_position
from regard.nn.state import Encoded, State


class ConvolutionalConfig(EncoderDecoderFamily):
    """ConvS2S (Gehring et al. 2017, arXiv 1705.03122).

    `kernel` is the number of positions that a convolution sees.
    """

    kind: Literal["convolutional"] = Field(default="convolutional", description=KIND)
    layers: int = Field(default=5, ge=1, le=MAX_LAYERS, description=LAYERS)
    decoder_layers: Optional[int] = Field(
        default=None, ge=1, le=MAX_LAYERS, description=DECODER_LAYERS
    )
    width: int = Field(default=128, ge=2, le=MAX_WIDTH, description="Size of the hidden vectors.")
    kernel: int = Field(
        default=3, ge=1, le=999, description="Positions that a convolution sees; odd."
    )
    position: Literal["learned", "sinusoidal"] = Field(
        default="learned", description="How positions are encoded."
    )
    max_length: int = Field(
        default=1024,
        ge=2,
        le=MAX_COUNT,
        description="Maximum number of positions; for learned positions only.",
    )
    dropout: float = Field(default=0.2, ge=0, lt=1, description="Dropout probability.")

    @model_validator(mode="after")
    def _fits(self) -> ConvolutionalConfig:
        if self.kernel % 2 == 0:
            raise ValueError(
                "an encoder sees as far to the left as to the right: use an odd kernel"
            )
        if self.position == "sinusoidal" and self.width % 2:
            raise ValueError("sinusoidal positions need an even width")
        return self

    @property
    def length_limit(self) -> Optional[int]:
        return self.max_length if self.position == "learned" else None

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        source, target, weight = share_embeddings(source_size, target_size, self.width, self.tying)
        return EncoderDecoder(
            ConvolutionalEncoder(self, source),
            ConvolutionalDecoder(self, target),
            self.output(weight, target_size, 2 * self.width),  # keys and values
            length_limit=self.length_limit,
        )

    @classmethod
    def miniatures(cls) -> list[ConvolutionalConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(layers=2, width=16, dropout=0.0)
        return [
            small,
            small.changed(
                layers=1, decoder_layers=2, kernel=5, position="sinusoidal", tying="none"
            ),
            small.changed(width=15, kernel=1, max_length=40, tying="target"),
            small.changed(layers=1, copying=True),
        ]


class ConvolutionalEncoder(Encoder):
    """z = norm of a stack of x + GLU(x), scaled by sqrt(1/2) each. The output has two halves: the
    keys z and the values z + e, where e embeds a token and its position: z describes the context,
    e the token itself."""

    def __init__(self, config: ConvolutionalConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        c = config
        self.decoder_layers = c.decoder_layers or c.layers
        position = input_position(c.position, c.width, c.max_length)
        self.embedding = Embedding(tokens, position, c.dropout)
        self.layers = Modules(
            GatedConvolution(c.width, c.kernel, c.dropout) for _ in range(c.layers)
        )
        self.norm = LayerNorm(c.width)

    def forward(self, source: Padded) -> Encoded:
        real = source.mask[:, :, None].float()
        embedded = self.embedding(source.values)  # (B, S, D)
        x = embedded
        for layer in self.layers:
            x = (x + layer.centred(x, real)) * HALF
        # the gradients of all decoder layers add up here and would be too large
        z = scale_gradient(self.norm(x), 1 / self.decoder_layers)
        return Encoded(torch.cat([z, (z + embedded) * HALF], dim=-1), source.mask)


class ConvolutionalShared(NamedTuple):
    keys: Tensor  # (B, 1, S, D)
    values: Tensor  # (B, 1, S, D)
    mask: Tensor  # (B, 1, 1, S), added to scores to hide padding


LastInputs = tuple[Tensor, ...]
"""Of each convolution, (R, (kernel - 1) x dilation, its width)."""

ConvolutionalState = State[ConvolutionalShared, LastInputs]
ByteNetState = State[Tensor, LastInputs]


class ConvolutionalDecoder(Decoder[ConvolutionalShared, LastInputs]):
    """Causal gated convolutions over the target, each followed by attention over the source."""

    def __init__(self, config: ConvolutionalConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        c = config
        position = input_position(c.position, c.width, c.max_length)
        self.embedding = Embedding(tokens, position, c.dropout)
        self.layers = Modules(
            GatedDecoderLayer(c.width, c.kernel, c.dropout)
            for _ in range(c.decoder_layers or c.layers)
        )
        self.norm = LayerNorm(c.width)
        self.dropout = Dropout(c.dropout)

    def start(self, encoded: Encoded) -> ConvolutionalState:
        keys, values = encoded.output[:, None].chunk(2, dim=-1)  # (B, 1, S, D)
        # a mean of m independent values has 1 / m of their variance
        values = values * encoded.mask.sum(dim=1)[:, None, None, None].sqrt()
        mask = additive_mask(~encoded.mask)[:, None, None]
        past = tuple(layer.gated.convolution.begin(keys) for layer in self.layers)
        return State(ConvolutionalShared(keys, values, mask), past)

    def forward(
        self, tokens: Tensor, state: ConvolutionalState
    ) -> tuple[Tensor, ConvolutionalState]:
        keys, values, mask = state.shared
        embedded = self.embedding(tokens, state.length)  # (R, T, D)
        x, after = embedded, []
        for layer, before in zip(self.layers, state.past, strict=True):
            x, last = layer(x, embedded, (keys, values), mask, before)
            after.append(last)
        return self.dropout(self.norm(x)), state.advance(tuple(after), by=tokens.shape[1])


class ByteNetConfig(EncoderDecoderFamily):
    """ByteNet (Kalchbrenner et al. 2016, arXiv 1610.10099), with the blocks it translates with.

    `kernel` is the number of positions that a convolution sees. Their distance doubles from block
    to block, 1, 2, 4 ..., and starts at 1 again after each `cycle` of blocks. A source of n pieces
    is unfolded over `stretch` x n + `extra` positions. The paper adds no extra ones, but the
    targets of short lines differ more in length.
    """

    kind: Literal["bytenet"] = Field(default="bytenet", description=KIND)
    layers: int = Field(default=10, ge=1, le=MAX_LAYERS, description="Blocks of the encoder.")
    decoder_layers: Optional[int] = Field(
        default=None,
        ge=1,
        le=MAX_LAYERS,
        description="Blocks of the decoder; null: as many as the encoder.",
    )
    width: int = Field(
        default=224, ge=2, le=MAX_WIDTH, description="Size of the hidden vectors; even."
    )
    kernel: int = Field(
        default=3, ge=3, le=999, description="Positions that a convolution sees; odd."
    )
    cycle: int = Field(
        default=5, ge=1, le=16, description="Blocks after which the dilation starts at 1 again."
    )
    stretch: float = Field(
        default=1.2,
        ge=1,
        le=1000,
        description="Target positions that are unfolded per source piece.",
    )
    extra: int = Field(
        default=10, ge=0, le=MAX_COUNT, description="Target positions on top of these."
    )
    dropout: float = Field(default=0.1, ge=0, lt=1, description="Dropout probability.")

    @model_validator(mode="after")
    def _fits(self) -> ByteNetConfig:
        if self.kernel % 2 == 0:
            raise ValueError(
                "an encoder sees as far to the left as to the right: use an odd kernel"
            )
        if self.width % 2:
            raise ValueError("a block that is half as wide inside needs an even width")
        return self

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        source, target, weight = share_embeddings(source_size, target_size, self.width, self.tying)
        return EncoderDecoder(
            ByteNetEncoder(self, source),
            ByteNetDecoder(self, target),
            self.output(weight, target_size, self.width),
        )

    @classmethod
    def miniatures(cls) -> list[ByteNetConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(layers=3, width=16, dropout=0.0)
        return [
            small,
            small.changed(
                layers=2, decoder_layers=3, kernel=5, cycle=2, stretch=1.0, extra=0, tying="none"
            ),
            small.changed(stretch=1.5, extra=1, tying="target"),
            small.changed(layers=2, copying=True),
        ]

    def blocks(self, count: int) -> Modules[DilatedBlock]:
        return Modules(
            DilatedBlock(self.width, self.kernel, 2 ** (number % self.cycle), self.dropout)
            for number in range(count)
        )


class ByteNetEncoder(Encoder):
    """A stack of dilated convolutions over the source and the empty positions that follow it.

    A target may be longer than its source, and the decoder reads column t with token t, so a
    source is unfolded beyond its length. How far depends on its own length only, and beyond that
    all layers see zeros, so a longer row in the batch changes nothing.
    """

    def __init__(self, config: ByteNetConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.stretch, self.extra = config.stretch, config.extra
        self.tokens = tokens
        self.scale = config.width**0.5
        self.dropout = Dropout(config.dropout)
        self.blocks = config.blocks(config.layers)
        self.norm = LayerNorm(config.width)

    def forward(self, source: Padded) -> Encoded:
        lengths = (source.lengths * self.stretch).long() + self.extra
        unfolded = int(lengths.max())
        mask = torch.arange(unfolded, device=lengths.device) < lengths[:, None]
        real = mask[:, :, None].float()
        x = self.dropout(self.tokens(source.values) * self.scale) * source.mask[:, :, None]
        # (B, unfolded, D); a negative padding truncates
        x = functional.pad(x, (0, 0, 0, unfolded - x.shape[1]))
        for block in self.blocks:
            x = block.centred(x, real)
        return Encoded(self.norm(x) * real, mask)


class ByteNetDecoder(Decoder[Tensor, LastInputs]):
    """Stacked on the encoder: x_t = s_t + e(y_{t-1}), then dilated convolutions that see no later
    position. After the last column s_t is zero. Without attention, time is linear in length.

    Shared by the hypotheses of a sentence: the columns s (B, unfolded, D).
    """

    def __init__(self, config: ByteNetConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.tokens = tokens
        self.scale = config.width**0.5
        self.dropout = Dropout(config.dropout)
        self.blocks = config.blocks(config.decoder_layers or config.layers)
        self.norm = LayerNorm(config.width)

    def start(self, encoded: Encoded) -> ByteNetState:
        past = tuple(block.convolution.begin(encoded.output) for block in self.blocks)
        return State(shared=encoded.output, past=past)

    def forward(self, tokens: Tensor, state: ByteNetState) -> tuple[Tensor, ByteNetState]:
        length = tokens.shape[1]
        columns = state.shared[:, state.length : state.length + length]
        columns = functional.pad(columns, (0, 0, 0, length - columns.shape[1]))  # (B, T, D)
        x = self.dropout(self.tokens(tokens) * self.scale)  # (R, T, D)
        x = (x.unflatten(0, (len(columns), -1)) + columns[:, None]).flatten(0, 1)
        after = []
        for block, before in zip(self.blocks, state.past, strict=True):
            x, last = block.causal(x, before)
            after.append(last)
        return self.norm(x), state.advance(tuple(after), by=length)
