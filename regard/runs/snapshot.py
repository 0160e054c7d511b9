"""What a model makes of a few sentences at one step of its training, small enough to keep."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from regard.data.line import Pair
from regard.data.words import Side, merge
from regard.nn.captured import Attention
from regard.predict import Predictor

SENTENCES = 4
MAX_WORDS = 60
"""Words per side; the attention of longer pairs is not kept."""


def snapshot(predictor: Predictor, pairs: Sequence[Pair], outputs: Sequence[str]) -> dict[str, Any]:
    """Each sentence with its translation so far and the attention between their words."""
    read = [(pair.source, output) for pair, output in zip(pairs, outputs, strict=True)]
    shown = predictor.model.reads_source
    found = predictor.attend(read, _attention, None) if shown else [None] * len(pairs)
    return {
        "sentences": [
            {
                "source": pair.source.text,
                "reference": pair.target.text,
                "output": output,
                "attention": attention,
            }
            for pair, output, attention in zip(pairs, outputs, found, strict=True)
        ]
    }


def _attention(attention: Attention, source: Side, target: Side) -> Optional[dict[str, Any]]:
    """The mean of the heads of each layer, in steps of 1 / 255."""
    if not attention.cross or max(len(source.words), len(target.words)) > MAX_WORDS:
        return None
    means = np.stack([layer.mean(axis=0) for layer in attention.cross])  # (layers, T, S)
    steps = np.rint(merge(means, target, source) * 255).clip(0, 255).astype(np.uint8)
    return {
        "rows": target.words,
        "columns": source.words,
        "layers": len(steps),
        "weights": base64.b64encode(steps.tobytes()).decode("ascii"),
    }
