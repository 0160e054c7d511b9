"""What one device does in a step of a recipe, from two batches that were rehearsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn

from regard.planning.accelerators import Accelerator
from regard.planning.estimate import Memory, Speed, sending_seconds
from regard.planning.rehearsal import BANDWIDTH_SHARE, COMPUTE_SHARE, Cost, Rehearsal
from regard.planning.workload import Workload
from regard.processes.devices import CPU
from regard.processes.memory import resident_memory
from regard.recipes.config import Config
from regard.training.sharding import LAYERS

ALLOCATED = 1.4
"""The CPU's allocator holds so many times what a step uses: freed blocks rarely have the size that
is needed next. Measured for the recipes of benchmarks/plan.py."""

KERNELS = 115e6
"""Bytes of the kernels that oneDNN keeps, for up to 1,024 operations of a certain shape. A training
run meets many shapes, a rehearsal few. Measured with the recipe conv, with and without that cache
(ONEDNN_PRIMITIVE_CACHE_CAPACITY=0)."""


@dataclass(frozen=True)
class Work:
    """The typical batch decides the time, the longest lines the memory. The rows are those of one
    device; `growth` is how many times as many tokens a batch has as the config says."""

    device: Accelerator
    count: int
    short: bool  # whether products are in bfloat16
    parameters: int
    state: dict[str, int]
    gathered: int
    runtime: float
    typical: Cost
    typical_rows: float
    typical_tokens: float  # on all devices
    longest: Cost
    longest_rows: float
    pairs_per_step: float
    tokens_per_step: float
    share: Optional[float]  # of the peak, given or measured

    @staticmethod
    def of(
        config: Config, workload: Workload, device: Accelerator, count: int, share: Optional[float]
    ) -> Work:
        torch.manual_seed(1)
        rehearsal = Rehearsal(config, workload.sizes, torch.device(device.where))
        batches = [workload.batch(workload.quantile(each)) for each in (0.5, 1.0)]
        rehearsal.take(batches[0].rows(0, 1))
        runtime = resident_memory() - sum(rehearsal.state_bytes(0).values())
        costs = [Cost.of(rehearsal, batch.rows(0, None, count)) for batch in batches]
        typical, longest = costs
        short = config.training.precision != "float32"
        if device.here and share is None:
            share = rehearsal.share(batches[0].rows(0, typical.many_rows), typical, device, short)
        pairs = workload.pairs_per_batch * config.training.accumulate
        return Work(
            device=device,
            count=count,
            short=short,
            parameters=rehearsal.parameters,
            state=rehearsal.state_bytes(_snapshots(config)),
            gathered=_gathered(rehearsal.model),
            runtime=KERNELS + max(0.0, runtime)
            if device.where == CPU and device.here
            else device.runtime,
            typical=typical,
            typical_rows=workload.scale * len(batches[0]) / count,
            typical_tokens=workload.scale * batches[0].tokens,
            longest=longest,
            longest_rows=workload.scale * len(batches[1]) / count,
            pairs_per_step=pairs,
            tokens_per_step=pairs * workload.tokens_per_pair,
            share=share,
        )

    def memory(self, growth: float) -> Memory:
        gradients = 4.0 * self.parameters
        peaks = (
            self.typical.peak(growth * self.typical_rows),
            self.longest.peak(growth * self.longest_rows),
        )
        held = ALLOCATED if self.device.here else 1.0
        return Memory(
            weights=self.state["weights"],
            gradients=gradients,
            optimizer=self.state["optimizer"],
            average=self.state["average"],
            activations=max(0.0, held * max(peaks) - gradients),
            runtime=self.runtime,
            gathered=self.gathered,
        )

    def speed(self, growth: float, sharded: bool) -> Speed:
        rows = growth * self.typical_rows
        flops, peak = self.typical.flops(rows), self.device.peak(self.short)
        shares = (1.0, 1.0) if self.device.here else (COMPUTE_SHARE, BANDWIDTH_SHARE)
        modelled = flops / (self.typical.seconds(rows, self.device, *shares) * peak)
        share = modelled if self.share is None else self.share
        computing = flops / (share * peak)
        like = self.tokens_per_step / self.typical_tokens  # batches of the typical kind in a step
        sending = sending_seconds(4.0 * self.parameters, self.count, self.device.link, sharded)
        return Speed(
            flops=like * flops,
            tokens=growth * self.tokens_per_step,
            computing=like * computing,
            sending=sending,
            share=share,
            modelled=modelled,
        )


def _snapshots(config: Config) -> int:
    """How many copies of the weights the average keeps."""
    average = config.training.average
    return {"none": 0, "ema": 1, "last": average.count}[average.kind]


def _gathered(model: nn.Module) -> int:
    """Bytes of weights that a process gathers at a time when they are sharded: the largest layer,
    and whatever is in no layer, such as embeddings; and as many of gradients."""
    layers = [
        sum(each.nbytes for each in part.parameters())
        for part in model.modules()
        if type(part) in LAYERS
    ]
    rest = sum(each.nbytes for each in model.parameters()) - sum(layers)
    return 2 * (max([0, *layers]) + rest)
