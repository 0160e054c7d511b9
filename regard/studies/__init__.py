"""Studies: one claim about sequence models per file, and the measurement that decides it."""

from __future__ import annotations

NAMES: tuple[str, ...] = (
    *("vanishing", "exploding", "deep", "saturation", "order", "heads", "nonlinearity"),
    *("normalisation", "embedding_scale", "complexity", "warmup", "regularisation"),
    *("recurrent_layers", "attention_layers", "database"),
)
"""In the order of the index. Each is a file of this folder with a STUDY in it."""
