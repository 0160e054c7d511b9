"""Recurrent encoder-decoder with attention (Bahdanau et al. 2014, arXiv 1409.0473)."""

from __future__ import annotations

from typing import Literal, Optional, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import Settings
from regard.data.batch import Padded
from regard.models.base import Decoder, Encoded, Encoder, EncoderDecoder
from regard.nn.dropout import Dropout
from regard.nn.embedding import Tying, share_embeddings
from regard.nn.output import Projection
from regard.nn.recurrent import AdditiveAttention, BothWays
from regard.nn.state import State


class RecurrentConfig(Settings):
    kind: Literal["recurrent"] = "recurrent"
    layers: int = Field(default=1, ge=1)
    decoder_layers: Optional[int] = Field(default=None, ge=1)  # None: as many as the encoder
    width: int = Field(default=256, ge=2)
    tying: Tying = "all"
    dropout: float = Field(default=0.2, ge=0, lt=1)
    smoothing: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _fits(self) -> RecurrentConfig:
        if self.width % 2:
            raise ValueError("an encoder that reads both ways needs an even width")
        return self

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        source, target, weight = share_embeddings(source_size, target_size, self.width, self.tying)
        return EncoderDecoder(
            RecurrentEncoder(self, source),
            RecurrentDecoder(self, target),
            Projection(weight, self.smoothing),
        )

    @classmethod
    def miniatures(cls) -> list[RecurrentConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(width=16, dropout=0.0)
        return [
            small,
            small.model_copy(update={"layers": 2, "tying": "none"}),
        ]


class RecurrentEncoder(Encoder):
    def __init__(self, config: RecurrentConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.tokens = tokens
        self.scale = config.width**0.5
        self.dropout = Dropout(config.dropout)
        self.read = BothWays(config.width, config.layers, config.dropout)

    def forward(self, source: Padded) -> Encoded:
        x = self.dropout(self.tokens(source.values) * self.scale)  # (B, S, D)
        return Encoded(self.dropout(self.read(x, source.lengths)), source.mask)


class RecurrentDecoder(Decoder):
    """s_i = f(s_{i-1}, y_{i-1}, c_i), where c_i is what s_{i-1} finds in the source.

    Its past: (h, c) of each LSTM layer, (R, D).
    """

    def __init__(self, config: RecurrentConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        width, layers = config.width, config.decoder_layers or config.layers
        self.tokens = tokens
        self.scale = width**0.5
        self.dropout = Dropout(config.dropout)
        self.begin = nn.Linear(width, layers * width)
        self.attention = AdditiveAttention(width)
        self.cells = nn.ModuleList(
            nn.LSTMCell(2 * width if layer == 0 else width, width) for layer in range(layers)
        )
        self.readout = nn.Linear(3 * width, width)

    def start(self, encoded: Encoded) -> State:
        lengths = encoded.mask.sum(dim=1, keepdim=True)
        mean = (encoded.output * encoded.mask[:, :, None]).sum(dim=1) / lengths  # (B, D)
        first = torch.tanh(self.begin(mean)).chunk(len(self.cells), dim=-1)
        past = tuple((h, torch.zeros_like(h)) for h in first)
        prepared = self.attention.prepare(encoded.output)
        return State(shared=(prepared, encoded.output, encoded.mask), past=past)

    def forward(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        prepared, source, mask = cast(tuple[Tensor, Tensor, Tensor], state.shared)
        past = cast(tuple[tuple[Tensor, Tensor], ...], state.past)
        x = self.dropout(self.tokens(tokens) * self.scale)  # (R, T, D)
        hidden = []
        for y in x.unbind(dim=1):
            c = self.attention(past[-1][0], prepared, source, mask)
            past = self._step(torch.cat([y, c], dim=-1), past)
            hidden.append(torch.cat([past[-1][0], c, y], dim=-1))
        read = torch.tanh(self.readout(torch.stack(hidden, dim=1)))  # (R, T, D)
        return self.dropout(read), state.advance(past, by=tokens.shape[1])

    def _step(
        self, x: Tensor, past: tuple[tuple[Tensor, Tensor], ...]
    ) -> tuple[tuple[Tensor, Tensor], ...]:
        """One token through the stack of cells; x (R, 2D)."""
        after = []
        for cell, before in zip(self.cells, past, strict=True):
            h, c = cell(x, before)
            after.append((h, c))
            x = self.dropout(h)
        return tuple(after)
