"""Layer norm against batch norm, with lines of different lengths and with small batches."""

from __future__ import annotations

import torch

from regard.nn.mixers.context import FullSequence
from regard.nn.norm import BatchNorm, LayerNorm
from regard.studies.ablation import ablate
from regard.studies.base import Finding, Number, Study, above
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

VARIANTS = {
    "layer norm": [],
    "batch norm": ["model.normalisation=batch"],
    "none": ["model.normalisation=none"],
    "layer norm, small batches": ["batch.tokens=128"],
    "batch norm, small batches": ["batch.tokens=128", "model.normalisation=batch"],
}


def dependence(batch: bool, seed: int = 1) -> float:
    """How much the normalised vectors of one row change when the other rows of a batch do."""
    torch.manual_seed(seed)
    norm = BatchNorm(16) if batch else LayerNorm(16)
    norm.train()
    row = torch.randn(1, 6, 16)
    results = []
    for length in (3, 6):
        others = torch.randn(3, 6, 16) * 2
        real = torch.ones(4, 6, dtype=torch.bool)
        real[1:, length:] = False
        results.append(norm(torch.cat([row, others]), FullSequence(real))[0].detach())
    return float((results[0] - results[1]).abs().mean())


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory, steps=400)
    found = ablate("validation loss", "nats per token", VARIANTS, task.losses)
    alone = {
        name: Number(dependence(name == "batch norm")) for name in ("layer norm", "batch norm")
    }
    large = found.change("batch norm", "layer norm")
    small = found.change("batch norm, small batches", "layer norm, small batches")
    return Finding(
        f"Batch norm costs {large.value:+.3f} nats per token, and {small.value:+.3f} with small "
        "batches.",
        {
            **found.numbers,
            **{f"dependence on the other rows, {name}": number for name, number in alone.items()},
        },
        (
            found.lower("layer norm is better", "layer norm", "batch norm"),
            found.lower(
                "and so it is with small batches",
                "layer norm, small batches",
                "batch norm, small batches",
            ),
            above("small batches make the difference larger", small, large),
            above("with batch norm a row depends on the others", alone["batch norm"], 0.01),
            found.lower("layer norm is better than none", "layer norm", "none"),
        ),
        (found.chart("Validation loss by normalisation"),),
    )


STUDY = Study(
    title="Layer norm or batch norm",
    claim="Batch norm suffers from lines of different lengths and from small batches, since its "
    "statistics come from the whole batch; layer norm uses one position at a time and does not.",
    formula="layer: (x - mean over columns) / deviation; batch: (x - mean over positions and "
    "rows) / deviation, for each column",
    method="Small pre-norm Transformers learn the grammar corpus for 400 steps with layer norm, "
    "batch norm and none, with batches of 1,024 and of 128 tokens. Besides, one row is normalised "
    "in two batches whose other rows differ.",
    change="--set model.normalisation=batch; dependence(batch) is the second measurement.",
    meaning="Use layer norm. If you must compare with batch norm, give it large batches.",
    measure=measure,
)
