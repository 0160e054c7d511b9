"""A training step, rehearsed: what it computes and keeps, by rows, and how long it takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap
from statistics import median

import torch

from regard.data.batch import Batch
from regard.data.store import Offset, Share
from regard.models.base import Model
from regard.models.weights import collect
from regard.planning.accelerators import Accelerator, Reference, clock_of, wait_for
from regard.planning.trace import Operation, Trace, Tracing
from regard.processes.ranks import Ranks
from regard.recipes.config import Config
from regard.training.gradients import SummedGradients
from regard.training.optimizers import optimizer_tensors

TRACED_FLOPS = 100e9
"""About what tracing a batch may compute; of larger ones, fewer rows are traced."""

TRACED_MIN_TOKENS = 600
"""Fewer tokens would say little about more: the loss is computed in chunks of hundreds."""

COMPUTE_SHARE, BANDWIDTH_SHARE = 0.6, 0.7
"""What products and other kernels usually reach of a device's figures on paper."""

REHEARSAL_SECONDS, REHEARSALS = 4.0, 4
"""How long, and how often at least, a step is timed on a device of this machine."""


def say_nothing(text: str) -> None:
    pass


class Rehearsal:
    """The model, optimiser and average of a recipe, and a training step with them."""

    def __init__(self, config: Config, sizes: tuple[int, int], device: torch.device) -> None:
        torch.manual_seed(config.training.seed)
        self.model: Model = config.model.build(*sizes).to(device)
        self.model.train()
        settings = config.training
        self._gradients = SummedGradients(self.model, settings, Ranks(), say_nothing)
        parameters = self._gradients.parameters()
        self.optimizer = settings.optimizer.build(self.model, parameters, Ranks())
        self.average = settings.average.build(self.model)

    def take(self, batch: Batch) -> None:
        """What the trainer does with a batch."""
        self._gradients.compute([Share(batch, batch.tokens, False, Offset())], False, False)
        self.optimizer.step()
        self.average.update(1)
        self.optimizer.zero_grad(set_to_none=True)

    def trace(self, batch: Batch) -> Trace:
        with Tracing() as tracing:
            self.take(batch)
        return tracing.trace

    def share(self, batch: Batch, cost: Cost, device: Accelerator, short: bool) -> float:
        """What the products of a step reach of the device's peak, which is measured again beside
        each step, so that other programs slow down both."""
        where, shares = self.model.device, list[float]()
        reference = Reference(where, short)
        clock = clock_of(where)
        end = clock() + REHEARSAL_SECONDS
        while len(shares) < REHEARSALS or clock() < end:
            peak = reference.flops_per_second()
            began = clock()
            self.take(batch)
            wait_for(where)
            elapsed = clock() - began
            peak = (peak + reference.flops_per_second()) / 2
            shares.append(cost.flops(len(batch)) / (elapsed * peak))
        return median(shares[1:])

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    def state_bytes(self, snapshots: int) -> dict[str, int]:
        """What is kept from step to step; an average keeps so many copies of the weights."""
        weights = sum(each.nbytes for each in collect(self.model).values())
        moments = sum(each.nbytes for each in optimizer_tensors(self.optimizer).values())
        return {"weights": weights, "optimizer": moments, "average": snapshots * weights}


@dataclass(frozen=True)
class Cost:
    """The operations and the peak memory of a step, for so many rows of one length; both grow
    linearly with the rows."""

    few: Trace
    many: Trace
    few_rows: int
    many_rows: int

    @staticmethod
    def of(rehearsal: Rehearsal, batch: Batch) -> Cost:
        """Of batches like this one, by tracing half of it and all of it, or less if it is large."""
        width = max(batch.source.values.shape[1], batch.target.values.shape[1])
        affordable = TRACED_FLOPS / (6 * rehearsal.parameters)
        many = min(len(batch), max(1, -(-int(max(TRACED_MIN_TOKENS, affordable)) // width)))
        few = max(1, many // 2)
        rehearsal.take(batch.rows(0, few))  # makes what the optimiser keeps
        return Cost(
            rehearsal.trace(batch.rows(0, few)), rehearsal.trace(batch.rows(0, many)), few, many
        )

    def peak(self, rows: float) -> float:
        """Bytes for gradients and activations."""
        return max(0.0, self._at(rows, self.few.peak, self.many.peak))

    def flops(self, rows: float) -> float:
        return self._at(rows, self.few.flops, self.many.flops)

    def operations(self, rows: float) -> Iterator[Operation]:
        """Those of the larger trace, each at its size for so many rows."""
        before, after = _by_name(self.few), _by_name(self.many)
        for name, found in after.items():
            known = before.get(name, [])
            if len(known) == len(found):
                pairs = zip(known, found, strict=True)
                yield from starmap(lambda one, other: self._grown(rows, one, other), pairs)
            else:
                ratio = rows / self.many_rows
                for each in found:
                    yield Operation(name, each.flops * ratio, each.moved * ratio, each.short)

    def seconds(self, rows: float, device: Accelerator, share: float, moving: float) -> float:
        """By a roofline: each operation takes as long as its products at this share of the peak, or
        as its bytes at that share of the bandwidth, or as long as it takes to start one."""
        return sum(
            max(
                each.flops / (share * device.peak(each.short)),
                each.moved / (moving * device.bandwidth),
                device.launch,
            )
            for each in self.operations(rows)
        )

    def _grown(self, rows: float, few: Operation, many: Operation) -> Operation:
        flops = max(0.0, self._at(rows, few.flops, many.flops))
        return Operation(
            many.name, flops, max(0.0, self._at(rows, few.moved, many.moved)), many.short
        )

    def _at(self, rows: float, few: float, many: float) -> float:
        if self.many_rows == self.few_rows:
            return many * rows / self.many_rows
        slope = (many - few) / (self.many_rows - self.few_rows)
        return many + (rows - self.many_rows) * slope


def _by_name(trace: Trace) -> dict[str, list[Operation]]:
    found = defaultdict[str, list[Operation]](list)
    for each in trace.operations:
        found[each.name].append(each)
    return found
