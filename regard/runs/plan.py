"""How many steps a run trains and in how many processes: decided once, then stored with the run."""

from __future__ import annotations

import torch

from regard.data.store import Batches
from regard.models.base import Model
from regard.processes.cores import cores
from regard.processes.ranks import Ranks
from regard.runs.folder import Run
from regard.training.display import Display
from regard.training.timing import seconds_per_step

TRAINING_SHARE = 0.9
"""Fraction of a budget in minutes spent on updates; the rest is for validating and saving."""

ONE_PROCESS_MIN_PARAMETERS = 20_000_000
"""Models at least this large are trained by one process."""


def plan_steps(run: Run, model: Model, batches: Batches, ranks: Ranks, display: Display) -> int:
    """The budget in steps, decided once and stored, so that the run stays reproducible."""
    budget, settings = run.config.budget, run.config.training
    (steps,) = ranks.broadcast([float(run.steps or 0)])
    if steps:
        return int(steps)
    if budget.minutes is not None:
        most = min(30.0, budget.minutes * 1.5)
        with display.waiting("measuring how long a step takes"):
            seconds = seconds_per_step(model, batches, settings, ranks, display.note, most)
        steps = budget.minutes * 60 * TRAINING_SHARE / seconds
    elif budget.epochs is not None:
        steps = budget.epochs * batches.epoch_batches() / settings.accumulate
    else:
        assert budget.steps is not None
        steps = budget.steps
    (steps,) = ranks.broadcast([max(1.0, round(steps))])
    if ranks.first:
        run.save_facts("plan", {"steps": int(steps)})
    return int(steps)


def plan_processes(run: Run) -> int:
    """How many processes train the run; another number would change the last digits.

    A large model gets one process with a thread per core: its products keep the cores busy, and
    each further process would need its own weights and moments, and exchange all gradients.
    """
    if run.number("processes", "processes") is None:
        by_size = 1 if _parameters(run) >= ONE_PROCESS_MIN_PARAMETERS else cores()
        run.save_facts("processes", {"processes": run.config.training.processes or by_size})
    return run.number("processes", "processes") or 1


def _parameters(run: Run) -> int:
    sides = run.tokenizers()
    with torch.device("meta"):
        model = run.config.model.build(sides.source.size, sides.target.size)
    return sum(parameter.numel() for parameter in model.parameters())
