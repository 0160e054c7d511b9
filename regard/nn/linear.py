"""The linear map with the initialisation that the Transformer wants."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from regard.nn.fast.products import affine


class Linear(nn.Linear):
    """W x + b, or W x."""

    def forward(self, input: Tensor) -> Tensor:
        if self._parameters["bias"] is None:
            return functional.linear(input, self.weight)
        return affine(input, self.weight, self.bias)


def linear(inputs: int, outputs: int, parts: int = 1, bias: bool = True) -> Linear:
    """Glorot weights and a zero bias; `parts` maps stacked in one are initialised separately."""
    made = Linear(inputs, outputs, bias=bias)
    for part in made.weight.detach().chunk(parts):
        nn.init.xavier_uniform_(part)
    if bias:
        nn.init.zeros_(made.bias)
    return made
