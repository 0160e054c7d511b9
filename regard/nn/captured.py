"""The attention weights of one captured pass, sentence by sentence and without padding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.data.batch import Batch
from regard.nn.probe import Axis, capture, watched

Kind = Literal["cross", "encoder", "decoder"]
KINDS: tuple[Kind, ...] = ("cross", "encoder", "decoder")
KIND_OF_AXES: dict[tuple[Axis, Axis], Kind] = {
    ("target", "source"): "cross",
    ("source", "source"): "encoder",
    ("read", "read"): "decoder",
}

Weights = NDArray[np.float32]
"""(H, T, S) of a layer: how much each head, at each position, attends to every other."""

Captured = dict[Kind, list[Tensor]]
"""The weights (B, H, T, S) of each layer."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Attention:
    """The weights of one sentence, (H, T, S) per layer.

    cross: from the decoder to the source. encoder: within the source. decoder: within the target
    so far. A model without one of them has no layers there.
    """

    cross: tuple[Weights, ...]
    encoder: tuple[Weights, ...]
    decoder: tuple[Weights, ...]

    def of(self, kind: Kind) -> tuple[Weights, ...]:
        return {"cross": self.cross, "encoder": self.encoder, "decoder": self.decoder}[kind]


@torch.inference_mode()
def watch(
    model: nn.Module, read: Callable[[Batch], Result], batch: Batch
) -> tuple[Result, Captured]:
    """The result of a pass of the model, and all weights that it computed."""
    with capture(model) as weights:
        result = read(batch)
    captured: Captured = {kind: [] for kind in KINDS}
    for name, module in watched(model).items():
        if weights[name] and module.looks in KIND_OF_AXES:
            captured[KIND_OF_AXES[module.looks]].append(torch.cat(weights[name], dim=2))
    return result, captured


def by_sentence(captured: Captured, batch: Batch) -> list[Attention]:
    """The weights of each sentence, without its padding."""
    sources, targets = batch.source.lengths.tolist(), batch.target.lengths.tolist()
    return [
        Attention(
            cross=_unpadded(captured["cross"], row, target, source),
            encoder=_unpadded(captured["encoder"], row, source, source),
            decoder=_unpadded(captured["decoder"], row, target, target),
        )
        for row, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]


def _unpadded(layers: list[Tensor], row: int, looking: int, looked_at: int) -> tuple[Weights, ...]:
    return tuple(layer[row, :, :looking, :looked_at].cpu().numpy().copy() for layer in layers)
