"""One attention head against many, at the same cost."""

from __future__ import annotations

import numpy as np

from regard.nn.captured import Attention
from regard.runs.folder import Run
from regard.studies.ablation import ablate
from regard.studies.base import Finding, Study, above, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

HEADS = (1, 2, 4, 8)
LINES = 50


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory)
    variants = {f"{heads} heads": [f"model.heads={heads}"] for heads in HEADS}
    variants["1 head"] = variants.pop("1 heads")
    found = ablate("validation loss", "nats per token", variants, task.losses)
    spread = mean([diversity(task, run) for run in task.runs(variants["4 heads"])])
    best = min(("2 heads", "4 heads", "8 heads"), key=lambda name: found[name].value)
    return Finding(
        f"With one head the loss is {found['1 head'].value:.3f} nats per token, with the best "
        f"number of heads ({best}) {found[best].value:.3f}.",
        {**found.numbers, "distance of two heads of a layer": spread},
        (
            found.lower("many heads are better than one", best, "1 head"),
            above("heads of a layer look at different things", spread, 0.2),
        ),
        (found.chart("Validation loss by number of heads, at the same width"),),
    )


def diversity(task: GrammarTask, run: Run) -> float:
    """Half the sum of the differences between the weights of two heads, over the pairs of heads of
    a layer: 0 if all look at the same, 1 if at nothing in common."""
    predictor = task.laboratory.predictor(run)
    pairs = [(each.source, each.target) for each in task.test[:LINES]]
    distances = [
        _distance(attention) for attention in predictor.attend(pairs, lambda each, *_: each, None)
    ]
    return float(np.mean(distances))


def _distance(attention: Attention | None) -> float:
    assert attention is not None
    every = [layer for kind in attention.kinds for layer in attention.of(kind)]
    found = []
    for layer in every:  # (H, T, S)
        for first in range(len(layer)):
            for second in range(first + 1, len(layer)):
                found.append(np.abs(layer[first] - layer[second]).sum(axis=-1).mean() / 2)
    return float(np.mean(found))


STUDY = Study(
    title="One head or many",
    claim="Several narrow heads are better than one wide head at the same cost, since each can "
    "attend to something else instead of averaging.",
    formula="MultiHead = Concat(head_1 .. head_h) W, each head of width d / h",
    method="Small Transformers of width 64 with 1, 2, 4 and 8 heads learn the grammar corpus; all "
    "have the same number of weights and operations. In those with 4 heads, the distance between "
    "the weights of two heads of a layer is measured on test sentences.",
    change="regard ladder with variants such as one=tiny:model.heads=1 compares them on your data.",
    meaning="Take 4 to 8 heads, and not so many that a head has fewer than about 16 columns.",
    measure=measure,
)
