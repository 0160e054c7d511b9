"""One attention head against many, at the same cost."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from regard.drawing.charts import Map
from regard.messages import counted
from regard.predict import Predictor
from regard.runs.folder import Run
from regard.runs.load import build_model
from regard.studies.ablation import ablate
from regard.studies.base import Finding, Study, above, difference, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

HEADS = (1, 2, 4, 8)
LINES = 50
PLACES = ("the one before", "itself", "the one after", "the end", "elsewhere")


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory)
    variants = {counted(heads, "head"): [f"model.heads={heads}"] for heads in HEADS}
    found = ablate("validation loss", "nats per token", variants, task.losses)
    runs = task.runs(variants["4 heads"])
    spread = [diversity(task, task.laboratory.predictor(run)) for run in runs]
    before = [diversity(task, untrained(run)) for run in runs]
    looks = where_heads_look(task, runs[0])
    return Finding(
        f"With one head the loss is {found['1 head'].value:.3f} nats per token, with four heads of "
        f"a quarter of its width {found['4 heads'].value:.3f}.",
        {
            **found.numbers,
            "distance of two heads of a layer": mean(spread),
            "distance of two heads of a layer, untrained": mean(before),
        },
        (
            found.lower("four heads are better than one", "4 heads", "1 head"),
            above("training sets the heads of a layer apart", difference(spread, before), 0.0),
        ),
        (
            found.chart("Validation loss by number of heads, at the same width"),
            Map(
                f"What the heads of the encoder look at, seed {laboratory.seeds[0]} (%)",
                list(looks),
                list(PLACES),
                list(looks.values()),
            ),
        ),
    )


def where_heads_look(task: GrammarTask, run: Run) -> dict[str, list[float]]:
    """The percentage of its weight that each head of the encoder gives to each of PLACES, from
    the pieces that have one before and one after them."""
    predictor = task.laboratory.predictor(run)
    pairs = [(each.source, each.target) for each in task.test[:LINES]]
    parts: dict[str, list[NDArray[np.float64]]] = {}
    for attention in predictor.attend(pairs, lambda each, *_: each, None):
        assert attention is not None
        for number, layer in enumerate(attention.encoder, 1):  # (H, S, S)
            for head, weights in enumerate(layer, 1):
                parts.setdefault(f"layer {number}, head {head}", []).append(places(weights))
    return {head: (100 * np.mean(rows, axis=0)).tolist() for head, rows in parts.items()}


def places(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """The mean part of weights (S, S) that goes to each of PLACES; they add up to 1."""
    inner = np.arange(1, len(weights) - 1)
    near = [weights[inner, inner + offset] for offset in (-1, 0, 1)]
    end = np.where(inner + 1 < len(weights) - 1, weights[inner, -1], 0.0)
    return np.array([*(each.mean() for each in (*near, end)), (1 - sum(near) - end).mean()])


def untrained(run: Run) -> Predictor:
    """A run as it was before its first step."""
    return Predictor(
        build_model(run).eval(),
        run.tokenizers(),
        run.config.search.quick(),
        length_limit=run.config.length_limit,
        annotations=run.config.annotations,
    )


def diversity(task: GrammarTask, predictor: Predictor) -> float:
    """Half the sum of the differences between the weights of two heads, over the pairs of heads of
    a layer: 0 if all look at the same, 1 if at nothing in common."""
    pairs = [(each.source, each.target) for each in task.test[:LINES]]
    distances = []
    for attention in predictor.attend(pairs, lambda each, *_: each, None):
        assert attention is not None
        layers = [layer for kind in attention.kinds for layer in attention.of(kind)]
        distances.append(np.mean([distance(layer) for layer in layers]))
    return float(np.mean(distances))


def distance(layer: NDArray[np.float32]) -> float:
    """The mean over the pairs of heads of weights (H, T, S)."""
    pairs = combinations(layer, 2)
    return float(np.mean([np.abs(one - other).sum(axis=-1).mean() / 2 for one, other in pairs]))


STUDY = Study(
    title="One head or many",
    claim="Several narrow heads are better than one wide head at the same cost, since each can "
    "attend to something else instead of averaging.",
    formula="MultiHead = Concat(head_1 .. head_h) W, each head of width d / h",
    method="Small Transformers of width 64 with 1, 2, 4 and 8 heads learn the grammar corpus; all "
    "have the same number of weights and operations. In those with 4 heads, the distance between "
    "the weights of two heads of a layer is measured on test sentences, after training and before "
    "the first step, since random heads differ as well, and how much of its weight "
    "each head of the encoder gives to the pieces next to it, to itself and to the end.",
    change="regard ladder with variants such as one=tiny:model.heads=1 compares them on your data.",
    meaning="Take 4 to 8 heads, and not so many that a head has fewer than about 16 columns.",
    measure=measure,
)
