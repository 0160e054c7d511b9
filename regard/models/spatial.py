"""Reading pictures: a convolutional encoder, and a decoder that attends to its grid of patches."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from regard.config import MAX_WIDTH
from regard.data.annotations import Kinds, Pixels
from regard.data.batch import UNKNOWN, Batch, Padded, Row
from regard.data.pictures import WHITE
from regard.models.base import KIND, Encoder, EncoderDecoder, Family
from regard.models.example import EXAMPLE_SIZES
from regard.models.recurrent import AttentionTiming, RecurrentConfig
from regard.nn.dropout import Dropout
from regard.nn.embedding import embed
from regard.nn.linear import linear
from regard.nn.output import Projection
from regard.nn.position import Sinusoidal
from regard.nn.recurrent import CellKind
from regard.nn.scores import ScoreKind
from regard.nn.state import Encoded


class SpatialConfig(Family):
    """Soft attention over a picture (Xu et al. 2015, arXiv 1502.03044).

    Without attention the decoder is given one vector of the whole picture.
    """

    kind: Literal["spatial"] = Field(default="spatial", description=KIND)
    height: int = Field(
        default=16, ge=2, le=1024, description="Height of the pictures in pixels; any width."
    )
    patch: Literal[2, 4, 8] = Field(
        default=4, description="Side of a patch in pixels: what attention can tell apart."
    )
    width: int = Field(default=128, ge=8, le=MAX_WIDTH, description="Size of the hidden vectors.")
    cell: CellKind = Field(default="lstm", description="Recurrent cell of the decoder.")
    attention: AttentionTiming = Field(
        default="before",
        description="When the decoder attends to the picture: never (one fixed vector), before "
        "each step or after it.",
    )
    score: ScoreKind = Field(default="additive", description="How attention scores are computed.")
    tying: Literal["none", "target"] = Field(
        default="target", description="Embeddings that are shared: none, or with the output."
    )
    dropout: float = Field(default=0.1, ge=0, lt=1, description="Dropout probability.")
    smoothing: float = Field(default=0.0, ge=0, lt=1, description="Label smoothing.")

    @model_validator(mode="after")
    def _fits(self) -> SpatialConfig:
        if self.height % self.patch:
            raise ValueError(f"height must be a multiple of patch, which is {self.patch}")
        if self.width % 8:
            raise ValueError("width must be a multiple of 8")
        return self

    @property
    def annotations(self) -> Kinds:
        return (Pixels(self.height, self.patch),)

    def build(self, source_size: int, target_size: int) -> EncoderDecoder:
        target = embed(target_size, self.width)
        output = target if self.tying == "target" else embed(target_size, self.width)
        decoder = RecurrentConfig(
            cell=self.cell,
            direction="forward",  # what the decoder starts from is the encoder's last position
            attention=self.attention,
            score=self.score,
            width=self.width,
            dropout=self.dropout,
        ).decoder(target)
        projection = Projection(output.weight, self.smoothing, target_size)
        return EncoderDecoder(PictureEncoder(self), decoder, projection)

    @classmethod
    def miniatures(cls) -> list[SpatialConfig]:
        """Small members which together use every option; the contract tests run each."""
        small = cls(width=16, height=4, patch=2, dropout=0.0)
        return [
            small,
            small.changed(attention="after", cell="gru", score="dot", tying="none"),
            small.changed(attention="none", cell="rnn", height=8, patch=8),
            small.changed(score="multiplicative", height=8, patch=4),
        ]

    def example(self, rows: int, seed: int) -> Batch:
        """Pictures of one to three columns of patches."""
        generator = torch.Generator().manual_seed(seed)

        def draw(shortest: int, longest: int, most: int) -> list[int]:
            """So many different whole numbers, from 0 to below `most`."""
            count = int(torch.randint(shortest, longest + 1, (1,), generator=generator))
            return torch.randperm(most, generator=generator)[:count].tolist()

        (kind,) = self.annotations
        sources, targets = [], []
        for _ in range(rows):
            patches = self.rows * len(draw(1, 3, 3))
            values = kind.example(draw(patches, patches, 99))
            sources.append(Row([UNKNOWN + 1] * patches, {kind.name: values}))
            words = draw(2, 5, EXAMPLE_SIZES[1] - UNKNOWN - 1)
            targets.append(Row([UNKNOWN + 1 + word for word in words]))
        return Batch(Padded.of_rows(sources), Padded.of_rows(targets))

    @property
    def rows(self) -> int:
        """Of the grid of patches."""
        return self.height // self.patch


class PictureEncoder(Encoder):
    """Convolutions of 3 by 3 with a pooling of 2 by 2 after each but the last, so that a patch
    becomes one vector:

        a_i = norm(convolutions(picture))_i + column_i + row_i
        summary = U mean over i of relu(V a_i)

    Columns have sinusoidal positions and rows learned ones: without them the decoder could not tell
    where in the picture it has been. The summary is at the position of EOS, which no patch has. It
    is where the decoder starts and, without attention, all it is given.
    """

    def __init__(self, config: SpatialConfig) -> None:
        super().__init__()
        self.rows, self.patch = config.rows, config.patch
        poolings = config.patch.bit_length() - 1
        channels = [1, *(config.width >> (poolings - i) for i in range(poolings + 1))]
        self.convolutions = nn.ModuleList(_convolution(*each) for each in pairwise(channels))
        self.norm = nn.LayerNorm(config.width)
        self.column = Sinusoidal(config.width)
        self.row = nn.Parameter(torch.randn(config.rows, config.width) * 0.5)
        self.inner = linear(config.width, 2 * config.width)
        self.outer = linear(2 * config.width, config.width)
        self.dropout = Dropout(config.dropout)

    def forward(self, source: Padded) -> Encoded:
        """The pixels (B, S, patch x patch) of the patches to (B, S, D)."""
        length = source.values.shape[1]
        positions = torch.arange(length, device=source.values.device)
        last = source.lengths[:, None] - 1
        seen = self._see(source.annotations[Pixels.name], positions < last)  # (B, S, D)
        summary = self._summary(seen, positions < last)
        output = torch.where((positions == last)[:, :, None], summary[:, None], seen)
        return Encoded(self.dropout(output), source.mask)

    def _see(self, pixels: Tensor, real: Tensor) -> Tensor:
        """The vectors (B, S, D) of patches; what is not real, such as padding, is blank."""
        count, length = real.shape
        columns = -(-length // self.rows)
        missing = columns * self.rows - length
        ink = (1 - pixels / WHITE) * real[:, :, None]
        ink = functional.pad(ink, (0, 0, 0, missing))
        grid = ink.view(count, columns, self.rows, self.patch, self.patch)
        x = grid.permute(0, 2, 3, 1, 4).reshape(count, 1, self.rows * self.patch, -1)
        shown = functional.pad(real, (0, missing)).view(count, columns, self.rows)
        mask = shown.transpose(1, 2)[:, None].to(x.dtype)  # (B, 1, rows, columns)
        size: int = self.patch
        for convolution in self.convolutions:
            around = mask.repeat_interleave(size, dim=2).repeat_interleave(size, dim=3)
            x = torch.relu(convolution(x)) * around
            if size > 1:
                x = functional.max_pool2d(x, 2)
            size //= 2
        x = self.norm(x.permute(0, 3, 2, 1))  # (B, columns, rows, D)
        return (x + self._positions(columns)).flatten(1, 2)[:, :length]

    def _positions(self, columns: int) -> Tensor:
        """(columns, rows, D)."""
        index = torch.arange(columns, device=self.row.device)[None]
        return self.column.at(index)[0, :, None] + self.row

    def _summary(self, seen: Tensor, real: Tensor) -> Tensor:
        """(B, D) of the patches (B, S, D)."""
        inner = torch.relu(self.inner(seen)) * real[:, :, None]
        return self.outer(inner.sum(dim=1) / real.sum(dim=1, keepdim=True).clamp(min=1))


def _convolution(inputs: int, outputs: int) -> nn.Conv2d:
    made = nn.Conv2d(inputs, outputs, 3, padding=1)
    nn.init.kaiming_normal_(made.weight, nonlinearity="relu")
    assert made.bias is not None
    nn.init.zeros_(made.bias)
    return made
