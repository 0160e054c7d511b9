"""Peak floating-point performance of the machine, against which speeds are compared."""

from __future__ import annotations

import time

import torch

from regard.nn.fast.products import times


def peak_gigaflops(size: int = 1536, repeats: int = 8) -> float:
    """Best rate of a large float32 matrix product on all cores, by torch or by oneDNN."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    best = float("inf")
    for product in [torch.matmul, times] * repeats:
        began = time.perf_counter()
        product(a, b)
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best / 1e9
