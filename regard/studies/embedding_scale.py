"""The scale of embeddings: why they are multiplied by the square root of the width."""

from __future__ import annotations

import torch

from regard.nn.embedding import embed
from regard.nn.position import Sinusoidal
from regard.studies.ablation import ablate
from regard.studies.base import Finding, Number, Study, above, below
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

WIDTH = 64


def size_ratio(scaled: bool, width: int = WIDTH) -> float:
    """The norm of a random embedding relative to that of the position that is added to it."""
    torch.manual_seed(1)
    tokens = embed(1000, width).weight.detach() * (width**0.5 if scaled else 1.0)
    positions = Sinusoidal(width).table[:50]
    return float(tokens.norm(dim=1).mean() / positions.norm(dim=1).mean())


def measure(laboratory: Laboratory) -> Finding:
    variants = {"scaled": [], "not scaled": ["model.scale_embeddings=false"]}
    task = GrammarTask(laboratory, steps=400)
    found = ablate("validation loss", "nats per token", variants, task.losses)
    ratios = {name: Number(size_ratio(name == "scaled")) for name in variants}
    return Finding(
        f"Without the factor an embedding has {ratios['not scaled'].value:.2f} times the norm of "
        f"its position, with it {ratios['scaled'].value:.1f} times; the loss changes by "
        f"{found.change('not scaled', 'scaled').value:+.3f} nats per token without it.",
        {
            **{f"norm relative to the position, {name}": n for name, n in ratios.items()},
            **found.numbers,
        },
        (
            below("without it positions drown the words", ratios["not scaled"], 0.5),
            above("with it they are of one size", ratios["scaled"], 0.5),
            found.lower("training is better with it", "scaled", "not scaled"),
        ),
        (found.chart("Validation loss with and without the factor sqrt(width)"),),
    )


STUDY = Study(
    title="The scale of embeddings",
    claim="Embeddings are multiplied by the square root of the width, since learned vectors of a "
    "large width have small entries, and would be small beside the positions that are added.",
    formula="x_t = sqrt(d) · E[token] + position_t",
    method=f"The norms of random embeddings of width {WIDTH} and of sinusoidal positions are "
    "compared; then small Transformers learn the grammar corpus for 400 steps with and without the "
    "factor.",
    change="--set model.scale_embeddings=false; size_ratio(scaled, width) for other widths.",
    meaning="Keep it where positions are added to the input and embeddings are shared with the "
    "output; with relative positions, which add nothing, it matters less.",
    measure=measure,
)
