"""Weights as eight-bit integers, for translating: smaller, and cheaper to multiply with."""

from __future__ import annotations

import warnings
from typing import Optional

import torch
from torch import Tensor, nn

from regard.errors import UsageError


class Int8Linear(nn.Module):
    """W x + b, each row of W rounded to 255 steps of its own and x to 128 on the fly.

    Seven bits for x, because processors without a dot product of bytes add pairs in 16 bits. The
    steps of x are those of its whole batch, so a row depends slightly on the others. The plain
    reference is `functional.linear` of the weight it was given.
    """

    def __init__(self, weight: Tensor, bias: Optional[Tensor] = None) -> None:
        super().__init__()
        if weight.device.type != "cpu":
            raise UsageError("Eight-bit weights work on the CPU only; remove --int8.")
        weight = weight.detach()
        steps = weight.abs().amax(dim=1).double().clamp(min=1e-12) / 127
        zeros = torch.zeros(len(weight), dtype=torch.int64)
        with warnings.catch_warnings():  # torch intends to replace this kind of tensor some day
            warnings.filterwarnings("ignore", message=".*quantized tensor creation")
            rounded = torch.quantize_per_channel(weight, steps, zeros, 0, torch.qint8)
        self.packed = torch.ops.quantized.linear_prepack(rounded, bias)

    def forward(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.quantized.linear_dynamic(x, self.packed, reduce_range=True)
        return product
