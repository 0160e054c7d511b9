"""Exploding gradients, and what clipping them does."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from regard.drawing.charts import Lines
from regard.nn.recurrent import CellState, TanhCell
from regard.studies.base import Finding, Number, Study, above, below, mean
from regard.studies.laboratory import Laboratory

WIDTH, LENGTH, ROWS = 32, 40, 64
RATE, THRESHOLD = 0.5, 1.0
GAIN = 2.0
"""Of the recurrent weights at the start: their largest singular value."""


@dataclass(frozen=True)
class Training:
    """The norm of the gradient at each step, the loss at each step, and the largest update."""

    norms: list[float]
    losses: list[float]
    largest_update: float


def train_cell(clipped: bool, seed: int, steps: int, gain: float = GAIN) -> Training:
    """A tanh cell learns by plain SGD which of two symbols came first, after LENGTH more inputs."""
    torch.manual_seed(seed)
    cell, output = TanhCell(2, WIDTH), torch.nn.Linear(WIDTH, 2)
    with torch.no_grad():
        cell.of_hidden.mul_(gain)  # orthogonal before
    parameters = [*cell.parameters(), *output.parameters()]
    norms, losses, largest = [], [], 0.0
    for _ in range(steps):
        x = torch.randn(ROWS, LENGTH, 2) * 0.1
        label = torch.randint(0, 2, (ROWS,))
        x[:, 0] = torch.eye(2)[label]
        state: CellState = cell.start(torch.zeros(ROWS, WIDTH))
        for entered in cell.enter(x).unbind(1):
            state = cell.step(entered, state)
        loss = torch.nn.functional.cross_entropy(output(state[0]), label)
        grads = torch.autograd.grad(loss, parameters)
        norm = math.sqrt(sum(float(grad.square().sum()) for grad in grads))
        scale = min(1.0, THRESHOLD / norm) if clipped and norm else 1.0
        with torch.no_grad():
            for parameter, grad in zip(parameters, grads, strict=True):
                parameter.sub_(grad, alpha=RATE * scale)
        norms.append(norm)
        losses.append(float(loss.detach()))
        largest = max(largest, RATE * scale * norm)
    return Training(norms, losses, largest)


def measure(laboratory: Laboratory) -> Finding:
    steps, seeds = laboratory.effort(300, 30), range(laboratory.effort(10, 3))
    found = {
        clipped: [train_cell(clipped, seed, steps) for seed in seeds] for clipped in (True, False)
    }
    largest = {
        clipped: mean([math.log10(max(each.norms)) for each in runs], "(log10)")
        for clipped, runs in found.items()
    }
    update = {
        clipped: mean([math.log10(each.largest_update) for each in runs], "(log10)")
        for clipped, runs in found.items()
    }
    tail = max(1, steps // 10)
    losses = {
        clipped: mean([sum(each.losses[-tail:]) / tail for each in runs], "nats")
        for clipped, runs in found.items()
    }
    bound = math.log10(RATE * THRESHOLD)
    growth = Number(train_cell(True, 1, 1, 1.0).norms[0])
    return Finding(
        f"Unclipped, the gradient's norm reaches {10 ** largest[False].value:,.0f}, and the loss "
        "ends at "
        f"{losses[False].value:.2f} nats; clipped to {THRESHOLD:g}, the loss ends at "
        f"{losses[True].value:.2f}.",
        {
            "largest norm, not clipped": largest[False],
            "largest update, not clipped": update[False],
            "largest update, clipped": update[True],
            "last loss, not clipped": losses[False],
            "last loss, clipped": losses[True],
            "norm at the start with a gain of 1": growth,
        },
        (
            above("the gradient explodes", largest[False], math.log10(10 * THRESHOLD)),
            below("clipping bounds every update", update[True], bound + 1e-6),
            above("without it an update is far larger", update[False], bound + 1),
            below("and training ends better with it", losses[True], losses[False]),
        ),
        (_chart(found[False][0], found[True][0]),),
    )


def _chart(plain: Training, clipped: Training) -> Lines:
    lines = {
        name: [(float(step), norm) for step, norm in enumerate(each.norms, 1)]
        for name, each in {"not clipped": plain, "clipped": clipped}.items()
    }
    title = "Norm of the gradient before clipping, seed 0"
    return Lines(title, "step", "norm", lines, log_y=True, level=THRESHOLD)


STUDY = Study(
    title="Exploding gradients and clipping",
    claim="If the recurrent weights are large, gradients explode, and a single update can throw "
    "the model far away; scaling a gradient down to a threshold that it exceeds prevents that.",
    formula="g <- g · threshold / |g|   if |g| >= threshold",
    method=f"A tanh cell of width {WIDTH} whose recurrent weights start with singular values of "
    f"{GAIN:g} learns by plain SGD which symbol came first, {LENGTH} steps later, with and without "
    "clipping: norms of the gradients, sizes of the updates, the last tenth of the losses.",
    change="train_cell(clipped, seed, steps, gain) takes another gain; in a run, "
    "--set training.optimizer.clip=1 sets the threshold.",
    meaning="Clip: it costs nothing while gradients are small. Watch how often it acts; if it does "
    "at every step, the learning rate is what you are really setting.",
    measure=measure,
)
