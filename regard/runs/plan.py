"""How many steps a run trains, on which device and in how many processes: decided, then stored
with the run."""

from __future__ import annotations

from collections.abc import Callable

import torch

from regard.data.store import Batches
from regard.errors import UsageError
from regard.models.base import Model
from regard.processes.cores import cores
from regard.processes.devices import CPU, find_device, local_device, on_cpu, wanted_device
from regard.processes.ranks import Ranks, under_torchrun
from regard.recipes.config import Budget
from regard.runs.folder import Run
from regard.training.display import Display
from regard.training.plan import Plan
from regard.training.timing import seconds_per_step

TRAINING_SHARE = 0.9
"""Fraction of a budget in minutes that is first planned for updates; the rest is for validating
and saving. The plan is revised once it is known how long these take."""

TIMING_MAX_SECONDS = 5.0

ONE_PROCESS_MIN_PARAMETERS = 20_000_000
"""Models at least this large are trained by one process."""


def load_plan(run: Run) -> Plan:
    """The plan of a run that has one."""
    try:
        return Plan.from_json(run.facts("plan"))
    except (TypeError, KeyError, ValueError):
        raise UsageError(
            f"{run.path / 'plan.json'} is corrupt or not written by regard: restore it from a copy."
        ) from None


def save_plan(run: Run, plan: Plan) -> None:
    run.save_facts("plan", plan.to_json())


def make_plan(
    run: Run, model: Model, batches: Batches, ranks: Ranks, display: Display, elapsed: float
) -> Plan:
    """The plan of the run, made by its budget when it is new.

    A budget in minutes includes the `elapsed` seconds in which the data was prepared, but half of
    it at least is for training.
    """
    (known,) = ranks.broadcast([float(run.steps or 0)])
    if known:
        return load_plan(run)
    budget, limit = run.config.budget, None
    if budget.minutes is not None:
        seconds = 60 * budget.minutes
        with display.waiting("measuring how long a step takes"):
            each = seconds_per_step(
                model,
                batches,
                run.config.training,
                ranks,
                display.note,
                min(TIMING_MAX_SECONDS, seconds / 40),
            )
        limit = max(seconds, elapsed + seconds / 2)
        steps = (limit - elapsed) * TRAINING_SHARE / each
    else:
        steps = _steps(run, budget, batches)
    (steps,) = ranks.broadcast([max(1.0, round(steps))])
    if ranks.first:
        save_plan(run, Plan.of(int(steps), limit))
    ranks.barrier()
    return load_plan(run)


def _steps(run: Run, budget: Budget, batches: Batches) -> float:
    if budget.epochs is not None:
        return budget.epochs * batches.epoch_batches() / run.config.training.accumulate
    assert budget.steps is not None
    return budget.steps


def extend_plan(run: Run, budget: Budget) -> None:
    """Train a finished run longer; an unfinished extension by the same budget is resumed."""
    plan, checkpoint = load_plan(run), run.checkpoints().latest()
    progress = checkpoint.progress() if checkpoint is not None else {}
    more = {name: value for name, value in budget.model_dump().items() if value is not None}
    step, elapsed = int(progress.get("step", 0)), float(progress.get("elapsed", 0.0))
    if not progress.get("finished") or plan.is_extended_after(step):
        if plan.more == more:
            return
        raise UsageError(
            f"{run.path} is not finished yet: resume it with 'regard train --run {run.path}' first."
        )
    limit = None
    if budget.minutes is not None:
        limit = elapsed + 60 * budget.minutes
        steps = TRAINING_SHARE * 60 * budget.minutes * step / max(elapsed, 1.0)
    else:
        seed, batch = run.config.training.seed, run.config.batch
        batches = Batches(run.store("train"), batch, run.tokenizers(), seed, 0.0)
        steps = _steps(run, budget, batches)
    save_plan(run, plan.extended(step, step + max(1, round(steps)), limit, more))


DEVICE = "device"


def plan_device(run: Run, say: Callable[[str], None]) -> None:
    """Store on which device the run is trained: the one asked for, or else the one it had.

    It is no part of the config: a run that was trained on one device is used on any other.
    """
    known = run.facts(DEVICE).get(DEVICE)
    wanted = wanted_device() or known or CPU
    if known is not None and wanted != known and run.checkpoints().steps():
        say(
            f"This run was trained on {known} so far: on {wanted} the result may differ in the "
            "last digits."
        )
    run.save_facts(DEVICE, {DEVICE: find_device(wanted).type})


def device_of(run: Run) -> torch.device:
    """Where this process trains the run."""
    device = find_device(run.facts(DEVICE).get(DEVICE, CPU))
    return local_device(device, torch.cuda.device_count())


def plan_processes(run: Run, ranks: Ranks, say: Callable[[str], None]) -> int:
    """How many processes train the run; another number would change the last digits.

    torchrun decides, if it started this one; it may start fewer when a machine is lost. Otherwise
    it is the number that trained the run before, or that of the config, or as many as suit the
    machine. On the CPU, a large model gets one process with a thread per core: its products keep
    the cores busy, and each further process would need its own weights and moments, and exchange
    all gradients. Other devices get one, without torchrun.
    """
    wanted = _wanted_processes(run, ranks, say)
    if run.config.training.shard and wanted == 1:
        raise UsageError(
            "training.shard=true needs several processes: start them with torchrun, or on the CPU "
            "by training.processes=2."
        )
    run.save_facts("processes", {"processes": wanted})
    return wanted


def _wanted_processes(run: Run, ranks: Ranks, say: Callable[[str], None]) -> int:
    known = run.number("processes", "processes")
    device = device_of(run)
    if ranks.size > 1 or under_torchrun():
        if known not in (None, ranks.size) and run.checkpoints().steps():
            say(
                f"This run was trained by {_several(known)} so far: with {ranks.size} the result "
                "may differ in the last digits."
            )
        return ranks.size
    if not on_cpu(device):
        if (run.config.training.processes or 1) > 1:
            raise UsageError(
                f"On {device.type}, torchrun starts the processes, one per GPU: remove "
                "training.processes."
            )
        return 1
    if known is not None:
        return known
    large = _parameters(run) >= ONE_PROCESS_MIN_PARAMETERS and not run.config.training.shard
    return run.config.training.processes or (1 if large else cores())


def _several(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"


def _parameters(run: Run) -> int:
    sides = run.tokenizers()
    with torch.device("meta"):
        model = run.config.model.build(sides.source.size, sides.target.size)
    return sum(parameter.numel() for parameter in model.parameters())
