"""What the machine can do at most, so that a speed can be given as a share of it."""

from __future__ import annotations

import time

import torch

from regard.nn.fast.products import times


def peak_gigaflops(size: int = 1536, repeats: int = 8) -> float:
    """The best rate of a large float32 matrix product on all cores, torch's own or oneDNN's, in
    GFLOP/s."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    best = float("inf")
    for product in [torch.matmul, times] * repeats:
        began = time.perf_counter()
        product(a, b)
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best / 1e9
