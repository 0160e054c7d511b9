"""How long a training step takes, to turn a budget in minutes into steps."""

from __future__ import annotations

import time
from collections.abc import Callable

from regard.data.store import Batches, Offset
from regard.models.base import Model
from regard.models.weights import collect, install
from regard.processes.ranks import Ranks
from regard.training.build import build_gradients
from regard.training.settings import TrainingSettings


def seconds_per_step(
    model: Model,
    batches: Batches,
    settings: TrainingSettings,
    ranks: Ranks,
    note: Callable[[str], None],
    seconds: float,
) -> float:
    """The mean time of a step on the first batches, measured for some seconds; the model keeps its
    weights."""
    stream = batches.shares(Offset(), ranks.rank, ranks.size, settings.shard)
    before = {name: tensor.clone() for name, tensor in collect(model).items()}
    gradients = build_gradients(model, settings, ranks, note)
    optimizer = settings.optimizer.build(model, gradients.parameters(), ranks)
    times: list[float] = []
    model.train()
    began = time.perf_counter()
    more = 1.0
    while more:
        start = time.perf_counter()
        gradients.compute([next(stream) for _ in range(settings.accumulate)], False, False)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(time.perf_counter() - start)
        (more,) = ranks.broadcast([float(len(times) < 3 or time.perf_counter() - began < seconds)])
    gradients.remove()
    install(model, before)
    del times[: 1 + len(times) // 5]  # warm-up
    return sum(times) / len(times)
