"""The Transformer (Vaswani et al. 2017, arXiv 1706.03762): attention is all it needs."""

from __future__ import annotations

from typing import Literal, Optional, cast

from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import Settings
from regard.data.batch import Padded
from regard.models.base import Decoder, Encoded, Encoder, EncoderDecoder
from regard.nn.attention import KeysValues, also_own, hide, see_own
from regard.nn.blocks import DecoderLayer, Embedding, EncoderLayer, Placement
from regard.nn.embedding import Tying, share_embeddings
from regard.nn.output import Projection
from regard.nn.position import PositionKind, build_position
from regard.nn.state import State


class TransformerConfig(Settings):
    """The sizes of the `tiny` recipe unless others are given."""

    kind: Literal["transformer"] = "transformer"
    layers: int = Field(default=4, ge=1)
    decoder_layers: Optional[int] = Field(default=None, ge=1)  # None: as many as the encoder
    width: int = Field(default=128, ge=2)
    inner: int = Field(default=256, ge=1)
    heads: int = Field(default=4, ge=1)
    norm: Placement = "post"
    position: PositionKind = "sinusoidal"
    max_length: int = Field(default=1024, ge=1)  # for learned positions alone
    tying: Tying = "all"
    scale_embeddings: bool = True
    dropout: float = Field(default=0.1, ge=0, lt=1)
    smoothing: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _fits(self) -> TransformerConfig:
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be split among {self.heads} heads")
        if self.width % 2 or (self.position == "rotary" and self.width // self.heads % 2):
            raise ValueError("positions need an even width, rotary ones an even width of each head")
        return self

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        source, target, weight = share_embeddings(source_size, target_size, self.width, self.tying)
        return EncoderDecoder(
            TransformerEncoder(self, source),
            TransformerDecoder(self, target),
            Projection(weight, self.smoothing),
            longest=self.max_length if self.position == "learned" else None,
        )

    @classmethod
    def miniatures(cls) -> list[TransformerConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(layers=2, width=16, inner=24, heads=2, dropout=0.0)
        return [
            small,
            small.model_copy(update={"norm": "pre", "position": "rotary", "tying": "none"}),
            small.model_copy(
                update={"position": "learned", "tying": "target", "scale_embeddings": False}
            ),
        ]


class TransformerEncoder(Encoder):
    def __init__(self, config: TransformerConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        c = config
        position = build_position(c.position, c.width, c.heads, c.max_length)
        self.embedding = Embedding(tokens, position, c.dropout, c.scale_embeddings)
        self.layers = nn.ModuleList(
            EncoderLayer(c.width, c.inner, c.heads, position, c.norm, c.dropout)
            for _ in range(c.layers)
        )
        self.norm = nn.LayerNorm(c.width) if c.norm == "pre" else nn.Identity()

    def forward(self, source: Padded) -> Encoded:
        mask = hide(~source.mask)[:, None, None]
        x = self.embedding(source.values)  # (B, S, D)
        for layer in self.layers:
            x = layer(x, mask)
        return Encoded(self.norm(x), source.mask)


class TransformerDecoder(Decoder):
    """Shared by the hypotheses of a sentence: keys and values of the source, and of all they have
    read themselves, (B, H, columns, K) for each layer. Its past: which columns a hypothesis's own
    tokens are in, (R, columns)."""

    def __init__(self, config: TransformerConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        c = config
        self.heads = c.heads
        position = build_position(c.position, c.width, c.heads, c.max_length)
        self.embedding = Embedding(tokens, position, c.dropout, c.scale_embeddings)
        self.layers = nn.ModuleList(
            DecoderLayer(c.width, c.inner, c.heads, position, c.norm, c.dropout)
            for _ in range(c.decoder_layers or c.layers)
        )
        self.norm = nn.LayerNorm(c.width) if c.norm == "pre" else nn.Identity()

    def start(self, encoded: Encoded) -> State:
        rows, _, width = encoded.output.shape
        prepared = tuple(
            cast(DecoderLayer, layer).source_attention.prepare(encoded.output)
            for layer in self.layers
        )
        nothing = encoded.output.new_zeros(rows, self.heads, 0, width // self.heads)
        read = tuple((nothing, nothing) for _ in self.layers)
        seen = encoded.mask.new_ones(rows, 0)
        mask = hide(~encoded.mask)[:, None, None]
        return State(shared=(prepared, mask, read), past=seen)

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        prepared, mask, read = cast(
            tuple[tuple[KeysValues, ...], Tensor, tuple[KeysValues, ...]], state.shared
        )
        seen, length = cast(Tensor, state.past), tokens.shape[1]
        past_mask = see_own(seen, len(mask), length)
        x = self.embedding(tokens, state.length)  # (R, T, D)
        more = []
        for layer, source, before in zip(self.layers, prepared, read, strict=True):
            x, after = layer(x, source, mask, before, past_mask, state.length)
            more.append(after)
        shared = (prepared, mask, tuple(more))
        return self.norm(x), state.advance(also_own(seen, len(mask), length), length, shared)
