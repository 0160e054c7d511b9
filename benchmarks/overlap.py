"""What summing gradients over processes costs: at the end of a step, or while it computes.

    torchrun --standalone --nproc-per-node 2 -m benchmarks.overlap

Each turn takes a step of each kind, so that other load on the machine meets all of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Optional

import torch

from regard.config import override
from regard.data.batch import Batch, Padded
from regard.models.base import Model
from regard.processes.buckets import BUCKET_BYTES, Buckets
from regard.processes.ranks import Ranks
from regard.recipes import find_recipe

KINDS: dict[str, Optional[int]] = {"none": None, "at the end": 2**40, "overlapping": BUCKET_BYTES}
"""Bytes of a bucket of gradients; without any, gradients stay where they are."""

VOCABULARY, LENGTH = 8_000, 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=24, help="Of each process.")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--set", action="append", default=[], help="Settings of the recipe tiny.")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with Ranks.join() as ranks:
        torch.manual_seed(1)
        model = override(find_recipe("tiny"), arguments.set).model.build(VOCABULARY, VOCABULARY)
        batch = Batch(_ids(arguments.rows), _ids(arguments.rows))
        seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(arguments.turns + 1):
            for kind, size in KINDS.items():
                seconds[kind].append(_step(model, batch, ranks, size))
        if ranks.first:
            size = sum(parameter.numel() for parameter in model.parameters())
            median = {k: round(statistics.median(found[1:]), 4) for k, found in seconds.items()}
            print(json.dumps({"processes": ranks.size, "parameters": size, "seconds": median}))


def _ids(rows: int) -> Padded:
    return Padded.of([[4 + (7 * row + n) % 5_000 for n in range(LENGTH)] for row in range(rows)])


def _step(model: Model, batch: Batch, ranks: Ranks, size: Optional[int]) -> float:
    buckets = Buckets(list(model.parameters()) if size else [], ranks, size or 1)
    model.zero_grad(set_to_none=True)
    ranks.barrier()
    began = time.perf_counter()
    loss = model(batch)
    with buckets.last_pass():
        (loss.total / loss.tokens).backward()
    if size:
        buckets.finish(torch.zeros(3))
    seconds = time.perf_counter() - began
    buckets.remove()
    return seconds


if __name__ == "__main__":
    main()
