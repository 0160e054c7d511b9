"""The Transformer (Vaswani et al. 2017, arXiv 1706.03762)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal, Optional

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import MAX_LAYERS
from regard.data.annotations import DependencyTree, Kinds
from regard.data.batch import Padded
from regard.models.base import (
    DECODER_LAYERS,
    KIND,
    LAYERS,
    Encoder,
    EncoderDecoder,
    EncoderDecoderFamily,
)
from regard.models.causal import CausalDecoder, CausalShared, Read
from regard.nn.attention import KeysValues
from regard.nn.blocks import BlockConfig, DecoderLayer, Placement, SelfLayer
from regard.nn.embedding import share_embeddings
from regard.nn.mixers import MixerKind, MixerSizes, check_mixers, in_turn
from regard.nn.mixers.base import Cache
from regard.nn.mixers.context import NextTokens
from regard.nn.modules import Modules
from regard.nn.order import LineOrder, Order, TreeOrder
from regard.nn.spelling import Spelling
from regard.nn.state import Encoded


class TransformerConfig(BlockConfig, EncoderDecoderFamily):
    """By default the sizes of the `tiny` recipe.

    The mixers alternate over the layers: window, full with four layers is window, full, window,
    full.
    """

    kind: Literal["transformer"] = Field(default="transformer", description=KIND)
    layers: int = Field(default=4, ge=1, le=MAX_LAYERS, description=LAYERS)
    decoder_layers: Optional[int] = Field(
        default=None, ge=1, le=MAX_LAYERS, description=DECODER_LAYERS
    )
    mixers: tuple[MixerKind, ...] = Field(
        default=("full",), min_length=1, description="Mixers, repeated over the encoder's layers."
    )
    decoder_mixers: tuple[MixerKind, ...] = Field(
        default=("full",), min_length=1, description="Mixers, repeated over the decoder's layers."
    )
    norm: Placement = Field(
        default="post", description="Normalise before each sub-layer (pre) or after it (post)."
    )
    output_bias: bool = Field(default=False, description="Learn a bias for each target piece.")

    @model_validator(mode="after")
    def _fits(self) -> TransformerConfig:
        self.check_width()
        if self.output_bias and self.copying:
            raise ValueError("output_bias=true needs copying=false")
        check_mixers(self.mixers, self.layers, self.position, causal=False)
        decoder_layers = self.decoder_layers or self.layers
        check_mixers(self.decoder_mixers, decoder_layers, self.decoder.position, causal=True)
        return self

    @property
    def decoder(self) -> BlockConfig:
        """The settings of the decoder's layers: the target has no tree."""
        return self.changed(position="sinusoidal") if self.position == "syntax" else self

    @property
    def annotations(self) -> Kinds:
        return (DependencyTree(),) if self.position == "syntax" else ()

    @property
    def length_limit(self) -> Optional[int]:
        limited = self.position == "learned" or "linformer" in self.mixers
        return self.max_length if limited else None

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        source, target, weight = share_embeddings(source_size, target_size, self.width, self.tying)
        bias = nn.Parameter(torch.zeros(target_size)) if self.output_bias else None
        return EncoderDecoder(
            TransformerEncoder(self, in_turn(self.mixers, self.layers), source),
            TransformerDecoder(self, target),
            self.output(weight, target_size, self.width, bias),
            length_limit=self.length_limit,
        )

    @classmethod
    def miniatures(cls) -> list[TransformerConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(layers=2, width=16, inner=24, heads=2, dropout=0.0)
        sizes = MixerSizes(neighbourhood=3, block=2, random_blocks=1, projected=3)
        softmax = {
            "layers": 3,
            "mixing": sizes,
            "mixers": ("full", "window", "bigbird"),
            "decoder_mixers": ("bigbird", "full", "window"),
        }
        low_rank = {
            "mixing": sizes,
            "mixers": ("linear", "linformer"),
            "decoder_mixers": ("linear",),
        }
        changes: list[dict[str, Any]] = [
            {},
            {**softmax, "norm": "pre", "position": "rotary", "tying": "none"},
            {"position": "learned", "tying": "target", "scale_embeddings": False},
            {"activation": "swish", "output_bias": True, "position": "index"},
            {"position": "concatenated"},
            {"activation": "gelu", "output_bias": True, "norm": "pre", "tying": "none"},
            {**softmax, "decoder_layers": 3, "max_length": 40, "position": "learned"},
            {**softmax, "norm": "pre"},
            {**softmax, "max_distance": 2, "position": "shaw"},
            {"max_distance": 3, "position": "syntax"},
            {**softmax, "position": "alibi", "heads": 4, "norm": "pre"},
            {**softmax, "position": "none", "scale_scores": False},
            {**low_rank, "max_length": 40},
            {**low_rank, "mixing": sizes.changed(sharing="none"), "norm": "pre"},
            {**low_rank, "mixing": sizes.changed(sharing="keys"), "position": "none"},
            {"normalisation": "batch", "norm": "pre", "residual": False, "layers": 1},
            {"normalisation": "batch", "decoder_mixers": ("linear", "none")},
            {"copying": True},
            {"copying": True, "norm": "pre", "tying": "target", "smoothing": 0.0},
            {
                **{"mixers": ("none",), "decoder_mixers": ("none",), "heads": 1, "inner": 0},
                **{"normalisation": "none", "position": "none"},
            },
        ]
        return [small.changed(**change) for change in changes]


class TransformerEncoder(Encoder):
    def __init__(
        self,
        config: BlockConfig,
        mixers: Sequence[MixerKind],
        tokens: nn.Embedding,
        spelling: Optional[Spelling] = None,
    ) -> None:
        """One layer per mixer."""
        super().__init__()
        self.embedding = config.embedding(tokens)
        self.spelling = spelling
        by_tree = config.position == "syntax"
        self.order: Order = TreeOrder(config.width) if by_tree else LineOrder()
        self.layers = Modules(
            SelfLayer(config, mixer, number) for number, mixer in enumerate(mixers)
        )
        self.norm = config.last_norm()

    def forward(self, source: Padded) -> Encoded:
        sequence = self.order.sequence(source)
        beside = self.spelling(source) if self.spelling else None
        x = self.embedding(source.values, beside=beside)  # (B, S, D)
        x = self.order.add_depth(x, source)
        for layer in self.layers:
            x = layer(x, sequence)
        return Encoded(self.norm(x, sequence), source.mask)


class TransformerDecoder(CausalDecoder[DecoderLayer]):
    """Self-attention over the target so far and attention over the source, in every layer."""

    def __init__(self, config: TransformerConfig, tokens: nn.Embedding) -> None:
        block = config.decoder
        mixers = in_turn(config.decoder_mixers, config.decoder_layers or config.layers)
        super().__init__(
            block, tokens, mixers, lambda mixer, number: DecoderLayer(block, mixer, number)
        )

    def keys_values(self, source: Tensor) -> tuple[KeysValues, ...]:
        return tuple(layer.source_attention.prepare(source) for layer in self.layers)

    def readers(self, shared: CausalShared) -> Iterator[Read]:
        for layer, source in zip(self.layers, shared.keys_values, strict=True):
            yield partial(_read, layer, source, shared.mask)


def _read(
    layer: DecoderLayer,
    source: KeysValues,
    mask: Tensor,
    x: Tensor,
    cache: Cache,
    tokens: NextTokens,
) -> tuple[Tensor, Cache]:
    read: tuple[Tensor, Cache] = layer(x, source, mask, cache, tokens)
    return read
