"""Studies: one claim about sequence models per file, and the measurement that decides it."""

from __future__ import annotations

NAMES: tuple[str, ...] = (
    "vanishing",
    "exploding",
    "deep",
    "saturation",
    "order",
    "complexity",
    "database",
)
"""In the order of the index. Each is a file of this folder with a STUDY in it."""
