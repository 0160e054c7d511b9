"""The linear map with the initialisation that the Transformer wants."""

from __future__ import annotations

from torch import Tensor, nn

from regard.nn.fast.products import affine


class Linear(nn.Linear):
    """W x + b."""

    def forward(self, input: Tensor) -> Tensor:
        return affine(input, self.weight, self.bias)


def linear(inputs: int, outputs: int, parts: int = 1) -> Linear:
    """Glorot weights and a zero bias; `parts` maps stacked in one are initialised separately."""
    made = Linear(inputs, outputs)
    for part in made.weight.detach().chunk(parts):
        nn.init.xavier_uniform_(part)
    nn.init.zeros_(made.bias)
    return made
