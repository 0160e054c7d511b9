"""The Transformer (Vaswani et al. 2017, arXiv 1706.03762): attention is all it needs."""

from __future__ import annotations

from typing import Any, Literal, Optional, cast

from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.data.annotations import DependencyTree, Kinds
from regard.data.batch import Padded
from regard.models.base import Decoder, Encoded, Encoder, EncoderDecoder, Family
from regard.nn.attention import KeysValues, additive_mask
from regard.nn.blocks import BlockConfig, DecoderLayer, Placement, SelfLayer
from regard.nn.embedding import Tying, share_embeddings
from regard.nn.mixers import MixerKind, MixerSizes, check_mixers, in_turn
from regard.nn.mixers.base import Cache
from regard.nn.mixers.context import NextTokens
from regard.nn.order import LineOrder, Order, TreeOrder
from regard.nn.output import Projection
from regard.nn.state import Nested, State


class TransformerConfig(BlockConfig, Family):
    """The sizes of the `tiny` recipe unless others are given.

    The mixers are taken in turn over the layers: window, full with four layers is window, full,
    window, full.
    """

    kind: Literal["transformer"] = "transformer"
    layers: int = Field(default=4, ge=1)
    decoder_layers: Optional[int] = Field(default=None, ge=1)  # None: as many as the encoder
    mixers: tuple[MixerKind, ...] = Field(default=("full",), min_length=1)
    decoder_mixers: tuple[MixerKind, ...] = Field(default=("full",), min_length=1)
    norm: Placement = "post"
    tying: Tying = "all"
    smoothing: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _fits(self) -> TransformerConfig:
        self.check_width()
        check_mixers(self.mixers, self.layers, self.position, causal=False)
        decoder_layers = self.decoder_layers or self.layers
        check_mixers(self.decoder_mixers, decoder_layers, self.decoder.position, causal=True)
        return self

    @property
    def decoder(self) -> BlockConfig:
        """Of the decoder's layers: the target has no tree."""
        return self.changed(position="sinusoidal") if self.position == "syntax" else self

    @property
    def annotations(self) -> Kinds:
        return (DependencyTree,) if self.position == "syntax" else ()

    @property
    def length_limit(self) -> Optional[int]:
        limited = self.position == "learned" or "linformer" in self.mixers
        return self.max_length if limited else None

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        source, target, weight = share_embeddings(source_size, target_size, self.width, self.tying)
        return EncoderDecoder(
            TransformerEncoder(self, source),
            TransformerDecoder(self, target),
            Projection(weight, self.smoothing, target_size),
            length_limit=self.length_limit,
        )

    @classmethod
    def miniatures(cls) -> list[TransformerConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(layers=2, width=16, inner=24, heads=2, dropout=0.0)
        sizes = MixerSizes(neighbourhood=3, block=2, random_blocks=1, projected=3)
        all_looking = ("full", "window", "bigbird")
        looking = {"layers": 3, "mixing": sizes, "mixers": all_looking}
        looking["decoder_mixers"] = ("bigbird", "full", "window")
        summing = {
            "mixing": sizes,
            "mixers": ("linear", "linformer"),
            "decoder_mixers": ("linear",),
        }
        changes: list[dict[str, Any]] = [
            {},
            {**looking, "norm": "pre", "position": "rotary", "tying": "none"},
            {"position": "learned", "tying": "target", "scale_embeddings": False},
            {**looking, "decoder_layers": 3, "max_length": 40, "position": "learned"},
            {**looking, "norm": "pre"},
            {**looking, "max_distance": 2, "position": "shaw"},
            {"max_distance": 3, "position": "syntax"},
            {**looking, "position": "alibi", "heads": 4, "norm": "pre"},
            {**looking, "position": "none", "scale_scores": False},
            {**summing, "max_length": 40},
            {**summing, "mixing": sizes.changed(sharing="none"), "norm": "pre"},
            {**summing, "mixing": sizes.changed(sharing="keys"), "position": "none"},
            {"normalisation": "batch", "norm": "pre", "residual": False, "layers": 1},
            {"normalisation": "batch", "decoder_mixers": ("linear", "none")},
            {
                **{"mixers": ("none",), "decoder_mixers": ("none",), "heads": 1, "inner": 0},
                **{"normalisation": "none", "position": "none"},
            },
        ]
        return [small.changed(**change) for change in changes]


class TransformerEncoder(Encoder):
    def __init__(self, config: TransformerConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.embedding = config.embedding(tokens)
        self.order: Order = TreeOrder(config.width) if config.annotations else LineOrder()
        self.layers = nn.ModuleList(
            SelfLayer(config, mixer, number)
            for number, mixer in enumerate(in_turn(config.mixers, config.layers))
        )
        self.norm = config.last_norm()

    def forward(self, source: Padded) -> Encoded:
        sequence = self.order.sequence(source)
        x = self.order.add_depth(self.embedding(source.values), source)  # (B, S, D)
        for layer in self.layers:
            x = layer(x, sequence)
        return Encoded(self.norm(x, sequence), source.mask)


class TransformerDecoder(Decoder):
    """Shared by the hypotheses of a sentence: keys and values of the source, and what each layer's
    mixer keeps for all of them. Its past: which columns of these a hypothesis's own tokens are in,
    (R, columns), and what each layer's mixer keeps for one."""

    def __init__(self, config: TransformerConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        c, anatomy = config, config.decoder
        self.embedding = anatomy.embedding(tokens)
        layers = [
            DecoderLayer(anatomy, mixer, number)
            for number, mixer in enumerate(in_turn(c.decoder_mixers, c.decoder_layers or c.layers))
        ]
        self.uses_columns = any(layer.attention.uses_columns for layer in layers)
        self.layers = nn.ModuleList(layers)
        self.norm = anatomy.last_norm()

    def start(self, encoded: Encoded) -> State:
        layers = [cast(DecoderLayer, layer) for layer in self.layers]
        prepared = tuple(layer.source_attention.prepare(encoded.output) for layer in layers)
        memories = [layer.attention.start(encoded.output) for layer in layers]
        mask = additive_mask(~encoded.mask)[:, None, None]
        seen = encoded.mask.new_ones(len(encoded.mask), 0)
        return State(
            shared=(prepared, mask, tuple(memory.shared for memory in memories)),
            past=(seen, tuple(memory.past for memory in memories)),
        )

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        prepared, mask, shared = cast(
            tuple[tuple[KeysValues, ...], Tensor, tuple[Nested, ...]], state.shared
        )
        seen, past = cast(tuple[Tensor, tuple[Nested, ...]], state.past)
        reading = NextTokens(tokens, state.length, len(mask), seen)
        x = self.embedding(tokens, state.length)  # (R, T, D)
        memories = []
        for layer, source, *kept in zip(self.layers, prepared, shared, past, strict=True):
            x, memory = layer(x, source, mask, Cache(*kept), reading)
            memories.append(memory)
        return self.norm(x, reading), state.advance(
            past=(reading.own if self.uses_columns else seen, tuple(m.past for m in memories)),
            by=tokens.shape[1],
            shared=(prepared, mask, tuple(m.shared for m in memories)),
        )
