"""The attention weights of one captured pass, sentence by sentence and without padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Optional, TypeVar, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.data.annotations import SentenceIndex
from regard.data.batch import Batch
from regard.data.words import Side
from regard.nn.probe import Axis, capture, watched

Axes = tuple[Axis, Axis]
"""What attends, and what it attends to."""

CROSS: Axes = ("target", "source")
COPY: Axes = ("target", "copied")
ENCODER: Axes = ("source", "source")
DECODER: Axes = ("read", "read")
MEMORY_READS: Axes = ("steps", "memory")
MEMORY_WRITES: Axes = ("steps", "written")

_NAMES: dict[Axes, str] = {
    CROSS: "cross",
    COPY: "copy",
    ENCODER: "encoder",
    DECODER: "decoder",
    MEMORY_READS: "reads",
    MEMORY_WRITES: "writes",
}

Weights = NDArray[np.float32]
"""(H, T, S) of a layer: how much each head, at each position, attends to every other."""

Captured = dict[Axes, list[Tensor]]
"""The weights (B, H, T, S) of each layer."""

Result = TypeVar("Result")


def kind_of(axes: Axes) -> str:
    """The name of a kind of attention: cross, copy, encoder, decoder, reads, writes or its axes."""
    return _NAMES.get(axes, "-".join(axes))


@dataclass(frozen=True)
class Attention:
    """The weights of one sentence, (H, T, S) per layer, by the axes they connect.

    cross: from the decoder to the source. copy: from the target to where it is copied from, a row
    being the probability of copying. encoder: within the source. decoder: within the target so far.
    reads, writes: from the steps of a machine to the slots of its memory. A model without one of
    them has no layers there; it may have others.
    """

    by_axes: Mapping[Axes, tuple[Weights, ...]]
    sentence_of: tuple[int, ...] = ()  # of each source piece, if the model reads sentences

    @property
    def kinds(self) -> dict[str, Axes]:
        """The kinds of attention this model has, with their axes."""
        known = [axes for axes in _NAMES if axes in self.by_axes]
        others = [axes for axes in self.by_axes if axes not in _NAMES]
        return {kind_of(axes): axes for axes in (*known, *others) if self.by_axes[axes]}

    def of(self, kind: str) -> tuple[Weights, ...]:
        """The layers of a kind; none if the model does not have it."""
        axes = self.kinds.get(kind)
        return () if axes is None else self.by_axes[axes]

    def sides(
        self, kind: str, source: Side, target: Side, read: Optional[Side] = None
    ) -> tuple[Side, Side]:
        """The axis that attends and the axis it attends to: tokens or sentences, and where there
        are none, as in a memory, numbers."""
        known: dict[Axis, Optional[Side]] = {
            "source": source,
            "copied": source,
            "target": target,
            "read": read,
            "steps": source.then(target),  # a machine reads the source, then writes the target
            "sentences": Side.named(source.parts(self.sentence_of)) if self.sentence_of else None,
        }
        _, rows, columns = self.of(kind)[0].shape
        looking, looked_at = self.kinds[kind]
        return (
            known.get(looking) or Side.numbered(rows),
            known.get(looked_at) or Side.numbered(columns),
        )

    @property
    def cross(self) -> tuple[Weights, ...]:
        return self.by_axes.get(CROSS, ())

    @property
    def encoder(self) -> tuple[Weights, ...]:
        return self.by_axes.get(ENCODER, ())

    @property
    def decoder(self) -> tuple[Weights, ...]:
        return self.by_axes.get(DECODER, ())


@torch.inference_mode()
def watch(
    model: nn.Module, read: Callable[[Batch], Result], batch: Batch
) -> tuple[Result, Captured]:
    """The result of a pass of the model, and all weights that it computed."""
    with capture(model) as weights:
        result = read(batch)
    captured: Captured = {}
    for name, module in watched(model).items():
        if weights[name]:
            captured.setdefault(module.looks, []).append(torch.cat(weights[name], dim=2))
    return result, captured


def by_sentence(captured: Captured, batch: Batch) -> list[Attention]:
    """The weights of each sentence, without its padding."""
    sources, targets = batch.source.lengths.tolist(), batch.target.lengths.tolist()
    longest = batch.source.values.shape[1]
    sentences = batch.source.annotations.get(SentenceIndex.name)
    found = []
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        real: Positions = {
            "source": slice(source),
            "copied": slice(source),
            "target": slice(target),
            "read": slice(target),
            "steps": [*range(source), *range(longest, longest + target)],
        }
        if sentences is not None:
            real["sentences"] = slice(int(sentences[row].amax()) + 1)
        of_row = {
            axes: tuple(_unpadded(layer[row], axes, real) for layer in layers)
            for axes, layers in captured.items()
        }
        of_source = () if sentences is None else tuple(sentences[row, :source].tolist())
        found.append(Attention(of_row, of_source))
    return found


Positions = dict[Axis, Union[slice, list[int]]]
"""Which rows or columns belong to a sentence; axes that are not here have no padding."""


def _unpadded(layer: Tensor, axes: Axes, real: Positions) -> Weights:
    """Of weights (H, T, S), those of a sentence."""
    rows, columns = (real.get(axis, slice(None)) for axis in axes)
    found: Weights = layer[:, rows][:, :, columns].cpu().numpy().copy()
    return found
