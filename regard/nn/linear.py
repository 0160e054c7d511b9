"""The linear map with the start that the Transformer wants."""

from __future__ import annotations

from torch import nn


def linear(inputs: int, outputs: int, parts: int = 1) -> nn.Linear:
    """Glorot weights and no bias to begin with; `parts` maps stacked in one start as if alone."""
    made = nn.Linear(inputs, outputs)
    for part in made.weight.detach().chunk(parts):
        nn.init.xavier_uniform_(part)
    nn.init.zeros_(made.bias)
    return made
