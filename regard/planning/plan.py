"""Planning: from a recipe, a corpus size and a device to memory, time and cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Optional, Union

import torch

from regard.config import check, override
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.planning.accelerators import (
    MACHINE_DEVICES,
    NETWORK,
    check_accelerator,
    find_accelerator,
)
from regard.planning.advice import advice_on
from regard.planning.estimate import FULL_SHARE, Estimate, Speed
from regard.planning.work import Work
from regard.planning.workload import AssumedWorkload, Workload, sampled
from regard.processes.cores import cores
from regard.processes.devices import CPU
from regard.processes.memory import bounded_memory
from regard.recipes import find_recipe
from regard.recipes.config import Budget, Config

ASSUMED_TOKENS = 30.0
"""Per line and EOS included, where nothing is known."""


def plan(
    recipe: Union[str, Config],
    data: Optional[Parallel] = None,
    *,
    pairs: Optional[int] = None,
    device: str = CPU,
    count: int = 1,
    settings: Sequence[str] = (),
    steps: Optional[int] = None,
    epochs: Optional[float] = None,
    minutes: Optional[float] = None,
    source_tokens: Optional[float] = None,
    target_tokens: Optional[float] = None,
    share: Optional[float] = None,
    link: Optional[float] = None,
    price: Optional[float] = None,
) -> Estimate:
    """What training a recipe would take.

    `data` is a sample of the corpus, prepared as for training, which decides vocabulary and
    lengths; without one, lines have `source_tokens` and `target_tokens` on average. `pairs` is the
    size of the corpus, that of the sample unless it is given. `device` is one of the table in
    docs/verbs/plan.md, or cpu, cuda or mps for one of this machine, which is measured. `share` is
    what products reach of the device's peak, `link` bytes per second between devices, and `price`
    that of an hour of one device.
    """
    config = _with_budget(override(find_recipe(recipe), settings), steps, epochs, minutes)
    if data is None and pairs is None:
        raise UsageError("Say how large the corpus is: --pairs, such as 30k or 100M, or a sample.")
    check_accelerator(device)
    with _workload(config, data, source_tokens, target_tokens) as workload, threads(count):
        accelerator = find_accelerator(device)
        if link is not None or count > MACHINE_DEVICES:
            accelerator = replace(accelerator, link=min(link or NETWORK, accelerator.link))
        with bounded_memory(1, torch.device(accelerator.where)):
            work = Work.of(config, workload, accelerator, count, share)
    size = workload.pairs if pairs is None else pairs
    memory = work.memory(1.0)
    too_large = memory.total > FULL_SHARE * accelerator.memory
    sharded = count > 1 and (too_large or config.training.shard)
    speed = work.speed(1.0, sharded)
    all_steps, all_epochs = _length(config.budget, size, work.pairs_per_step, speed)
    estimate = Estimate(
        config.model.kind,
        work.parameters,
        (workload.sizes[0], None if config.writes == "indices" else workload.sizes[1]),
        device,
        count,
        config.training.precision,
        accelerator.memory,
        memory,
        sharded,
        speed,
        size,
        workload.tokens_per_pair,
        all_steps,
        all_epochs,
        price,
    )
    return replace(estimate, advice=tuple(advice_on(estimate, config, accelerator, work)))


def read_count(text: str) -> int:
    """A number of pairs: 29000, 30k, 4.5M or 2B."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgGbB]?)", text.replace(",", ""))
    count = 0 if match is None else round(float(match[1]) * _UNITS[match[2].lower()])
    if count < 1:
        raise UsageError(f"'{text}' is not a number of pairs: write 30000, 30k or 100M.")
    return count


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}


@contextmanager
def threads(processes: int) -> Iterator[None]:
    """Compute as one of so many processes on this machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, cores() // processes))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _with_budget(
    config: Config, steps: Optional[int], epochs: Optional[float], minutes: Optional[float]
) -> Config:
    budget = {"steps": steps, "epochs": epochs, "minutes": minutes}
    if all(value is None for value in budget.values()):
        return config
    return config.changed(budget=check(Budget, budget, options=True))


@contextmanager
def _workload(
    config: Config, data: Optional[Parallel], source: Optional[float], target: Optional[float]
) -> Iterator[Workload]:
    if data is None:
        known = source or target or ASSUMED_TOKENS
        yield AssumedWorkload(config, known, target or known)
        return
    if source is not None or target is not None:
        raise UsageError("--source-tokens and --target-tokens have no effect with a sample.")
    with sampled(config, data) as workload:
        yield workload


def _length(budget: Budget, pairs: int, pairs_per_step: float, speed: Speed) -> tuple[int, float]:
    """Steps and epochs of a budget."""
    if budget.steps is not None:
        steps = float(budget.steps)
    elif budget.epochs is not None:
        steps = budget.epochs * pairs / pairs_per_step
    else:
        assert budget.minutes is not None
        steps = 60 * budget.minutes / speed.seconds
    whole = max(1, round(steps))
    return whole, whole * pairs_per_step / pairs
