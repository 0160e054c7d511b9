"""What a model looked at: the weights of every head, from one captured pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batch import Batch
from regard.models.base import Model
from regard.nn.probe import Axis, capture, watched

Kind = Literal["cross", "encoder", "decoder"]
KINDS: tuple[Kind, ...] = ("cross", "encoder", "decoder")
KIND_OF_AXES: dict[tuple[Axis, Axis], Kind] = {
    ("target", "source"): "cross",
    ("source", "source"): "encoder",
    ("read", "read"): "decoder",
}

Weights = NDArray[np.float32]
"""(H, T, S) of a layer: how much each head, at each place, looks at every other place."""

Captured = dict[Kind, list[Tensor]]
"""The weights (B, H, T, S) of each layer."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Attention:
    """The weights of one sentence, a (H, T, S) for each layer.

    cross: from the decoder to the source. encoder: within the source. decoder: within the target
    so far. A model without one of them has no layers there.
    """

    cross: tuple[Weights, ...]
    encoder: tuple[Weights, ...]
    decoder: tuple[Weights, ...]

    def of(self, kind: Kind) -> tuple[Weights, ...]:
        return {"cross": self.cross, "encoder": self.encoder, "decoder": self.decoder}[kind]


@torch.inference_mode()
def watch(model: Model, read: Callable[[Batch], Result], batch: Batch) -> tuple[Result, Captured]:
    """What a pass of the model gives, and all weights on the way."""
    with capture(model) as weights:
        result = read(batch)
    captured: Captured = {kind: [] for kind in KINDS}
    for name, module in watched(model).items():
        if weights[name] and module.looks in KIND_OF_AXES:
            captured[KIND_OF_AXES[module.looks]].append(torch.cat(weights[name], dim=2))
    return result, captured


def rows(captured: Captured, batch: Batch) -> list[Attention]:
    """The weights of each sentence by itself, without its padding."""
    sources, targets = batch.source.lengths.tolist(), batch.target.lengths.tolist()
    return [
        Attention(
            cross=_cut(captured["cross"], row, target, source),
            encoder=_cut(captured["encoder"], row, source, source),
            decoder=_cut(captured["decoder"], row, target, target),
        )
        for row, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]


def _cut(layers: list[Tensor], row: int, looking: int, looked_at: int) -> tuple[Weights, ...]:
    return tuple(layer[row, :, :looking, :looked_at].numpy().copy() for layer in layers)


def attention_of(model: Model, batch: Batch) -> list[Attention]:
    """The weights for given pairs, read in one teacher-forced pass."""
    _, captured = watch(model, model.log_probabilities, batch)
    return rows(captured, batch)


def entropy(weights: Weights) -> NDArray[np.float64]:
    """(H,): -sum w log2 w of each head in bits, its mean over the places that look.

    0 is a head that looks at one place only; log2 S one that looks at all alike. Weights that may
    have any sign count by their share of the sum of sizes.
    """
    exact = np.abs(weights.astype(np.float64))
    exact /= np.maximum(exact.sum(axis=-1, keepdims=True), 1e-30)
    logs = np.log2(np.where(exact > 0, exact, 1.0))
    spread: NDArray[np.float64] = -(exact * logs).sum(axis=-1).mean(axis=-1)
    return spread
