"""What a model makes of a few sentences at one moment of its training, small enough to keep."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from itertools import repeat
from typing import Any, Optional

import numpy as np

from regard.inspection.aligning import Pair, each_pair
from regard.inspection.attention import Attention
from regard.inspection.words import Side, merge
from regard.predict import Predictor

SENTENCES = 4
LONGEST = 60
"""Words a side whose attention is kept."""


def snapshot(
    predictor: Predictor,
    sources: Sequence[str],
    references: Sequence[str],
    outputs: Sequence[str],
    heads: Optional[Sequence[Sequence[int]]],
) -> dict[str, Any]:
    """Each sentence with its translation so far and the attention between their words."""
    pairs = list(map(Pair, sources, outputs, repeat(None) if heads is None else heads))
    shown = predictor.model.reads_source
    found = each_pair(predictor, pairs, _attention, None) if shown else [None] * len(pairs)
    return {
        "sentences": [
            {"source": source, "reference": reference, "output": output, "attention": attention}
            for source, reference, output, attention in zip(
                sources, references, outputs, found, strict=True
            )
        ]
    }


def _attention(attention: Attention, source: Side, target: Side) -> Optional[dict[str, Any]]:
    """The mean of the heads of each layer, in steps of 1 / 255."""
    if not attention.cross or max(len(source.words), len(target.words)) > LONGEST:
        return None
    means = np.stack([layer.mean(axis=0) for layer in attention.cross])  # (layers, T, S)
    steps = np.rint(merge(means, target, source) * 255).clip(0, 255).astype(np.uint8)
    return {
        "rows": target.words,
        "columns": source.words,
        "layers": len(steps),
        "weights": base64.b64encode(steps.tobytes()).decode("ascii"),
    }
