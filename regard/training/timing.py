"""How long a training step takes, to turn a budget in minutes into steps."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from regard.data.store import Batches, Offset
from regard.models.base import Model
from regard.models.weights import collect, install
from regard.processes.ranks import Ranks
from regard.training.halving import Halving
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
    stream = batches.from_offset(Offset())
    before = {name: tensor.clone() for name, tensor in collect(model).items()}
    optimizer, halving = settings.optimizer.build(model, ranks), Halving(model, note)
    parameters = list(model.parameters())
    times: list[float] = []
    model.train()
    began = time.perf_counter()
    more = 1.0
    while more:
        start = time.perf_counter()
        taken = [next(stream)[0] for _ in range(settings.accumulate)]
        halving.backward([ranks.local_rows(batch) for batch in taken], 1)
        ranks.all_reduce_gradients(parameters, parameters[0].new_zeros(2))
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(time.perf_counter() - start)
        (more,) = ranks.broadcast([float(len(times) < 3 or time.perf_counter() - began < seconds)])
    install(model, before)
    del times[: 1 + len(times) // 5]  # warm-up
    return sum(times) / len(times)
