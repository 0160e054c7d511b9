"""Studies: one claim about sequence models per file, and the measurement that decides it."""

from __future__ import annotations

NAMES: tuple[str, ...] = (
    *("vanishing", "exploding", "deep", "saturation", "order", "heads", "nonlinearity"),
    *("normalisation", "embedding_scale", "complexity", "warmup", "regularisation"),
    *("recurrent_layers", "attention_layers", "database"),
    *("quadratic_cost", "pronoun", "bleu", "memory", "channel", "context"),
    *("subwords", "additive_self_attention"),
    *("bottleneck", "alignment", "gradient_path", "mask"),
    *("positions", "adding_positions", "position_residual"),
    *("search", "exposure"),
    *("one_pass", "difficulties"),
)
"""In the order of the index. Each is a file of this folder with a STUDY in it."""
