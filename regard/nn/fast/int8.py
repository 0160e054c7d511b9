"""Weights as eight-bit integers, for translating: smaller, and cheaper to multiply with."""

from __future__ import annotations

import warnings
from typing import Optional

import torch
from torch import Tensor, nn

from regard.nn.output import Projection
from regard.nn.state import State


class Int8Linear(nn.Module):
    """W x + b, each row of W rounded to 255 steps of its own and x to 128 as it comes.

    Seven bits for x, because processors without a dot product of bytes add pairs in 16 bits. The
    steps of x are those of its whole batch, so a row depends a little on the others.
    """

    def __init__(self, weight: Tensor, bias: Optional[Tensor]) -> None:
        super().__init__()
        weight = weight.detach()
        steps = weight.abs().amax(dim=1).double().clamp(min=1e-12) / 127
        zeros = torch.zeros(len(weight), dtype=torch.int64)
        with warnings.catch_warnings():  # torch means to replace this kind of tensor one day
            warnings.filterwarnings("ignore", message=".*quantized tensor creation")
            rounded = torch.quantize_per_channel(weight, steps, zeros, 0, torch.qint8)
        self.packed = torch.ops.quantized.linear_prepack(rounded, bias)

    def forward(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.quantized.linear_dynamic(x, self.packed, reduce_range=True)
        return product


class Int8Projection(Projection):
    """The scores of the vocabulary by such a product; the loss stays exact."""

    def __init__(self, weight: Tensor, smoothing: float) -> None:
        super().__init__(weight, smoothing, len(weight))
        self.product = Int8Linear(weight, None)

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        scores: Tensor = self.product(hidden)
        return scores

    def narrow(self, choices: Tensor) -> Int8Projection:
        return Int8Projection(self.weight[choices], self.smoothing)


def use_int8(model: nn.Module) -> None:
    """Put eight-bit products in place of every `nn.Linear` and the output; not to train with."""
    for module in list(model.modules()):
        for name, part in list(module.named_children()):
            if isinstance(part, nn.Linear):
                setattr(module, name, Int8Linear(part.weight, part.bias))
            elif isinstance(part, Projection):
                setattr(module, name, Int8Projection(part.rows, part.smoothing))
