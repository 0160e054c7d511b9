"""Softmax saturation: why attention scores are divided by the square root of a head's width."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.drawing.charts import Lines
from regard.studies.base import Finding, Number, Study, above, below, mean, relative_change
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

WIDTHS = (4, 16, 64, 256, 1024)
KEYS = 64
DRAWS = 10


@dataclass(frozen=True)
class Saturation:
    """Of softmax over KEYS random scores: its entropy as a part of the largest possible, and how
    much of a gradient on its output reaches the scores."""

    entropy: float
    gradient: float


def saturation(width: int, scaled: bool, seed: int, queries: int = 256) -> Saturation:
    """Queries and keys of independent standard normal numbers, as after a normalisation."""
    torch.manual_seed(seed)
    query, key = torch.randn(queries, width), torch.randn(KEYS, width)
    scores: Tensor = query @ key.t() / (width**0.5 if scaled else 1.0)
    scores.requires_grad_(True)
    weights = scores.softmax(dim=-1)
    entropy = -(weights * weights.clamp(min=1e-30).log()).sum(dim=-1).mean()
    value = torch.randn(KEYS)
    (grad,) = torch.autograd.grad((weights @ value).sum(), scores)
    return Saturation(float(entropy.detach()) / math.log(KEYS), float(grad.norm(dim=1).mean()))


def measure(laboratory: Laboratory) -> Finding:
    found = {
        (scaled, width): [saturation(width, scaled, seed) for seed in range(DRAWS)]
        for scaled in (True, False)
        for width in WIDTHS
    }
    wide, narrow = WIDTHS[-1], WIDTHS[0]
    entropy = {key: mean([each.entropy for each in each_draw]) for key, each_draw in found.items()}
    gradient = {
        key: mean([each.gradient for each in each_draw]) for key, each_draw in found.items()
    }
    cost = _cost_in_training(laboratory)
    return Finding(
        f"With heads of width {wide:,}, unscaled attention has {entropy[False, wide].value:.0%} of "
        f"the largest entropy, and scaled attention {entropy[True, wide].value:.0%}.",
        {
            f"entropy, not scaled, width {narrow}": entropy[False, narrow],
            f"entropy, not scaled, width {wide}": entropy[False, wide],
            f"entropy, scaled, width {wide}": entropy[True, wide],
            f"gradient, not scaled, width {wide}": gradient[False, wide],
            f"gradient, scaled, width {wide}": gradient[True, wide],
            **{f"loss without scaling, {name}": number for name, number in cost.items()},
        },
        (
            below("unscaled, wide heads saturate", entropy[False, wide], entropy[True, wide]),
            below("their gradient is smaller", gradient[False, wide], gradient[True, wide]),
            above("narrow heads need no scaling", entropy[False, narrow], 0.5),
            above("training with wide heads suffers", cost["heads of width 64"], 0.0),
            below("training with narrow heads does not", cost["heads of width 8"], 5.0),
        ),
        (
            _chart("Entropy of the weights, relative to the largest", entropy),
            _chart("Norm of the gradient at the scores", gradient),
        ),
    )


def _chart(title: str, numbers: dict[tuple[bool, int], Number]) -> Lines:
    lines = {
        name: [(width, numbers[scaled, width].value) for width in WIDTHS]
        for name, scaled in {"scaled": True, "not scaled": False}.items()
    }
    return Lines(title, "width of a head", "", lines, log_x=True)


def _cost_in_training(laboratory: Laboratory) -> dict[str, Number]:
    """By how many per cent the validation loss rises when scores are not scaled."""
    task = GrammarTask(laboratory)
    found = {}
    for heads, name in ((1, "heads of width 64"), (8, "heads of width 8")):
        settings = [f"model.heads={heads}"]
        plain = task.losses([*settings, "model.scale_scores=false"])
        found[name] = relative_change(plain, task.losses(settings))
    return found


STUDY = Study(
    title="Softmax saturates without 1/sqrt(d)",
    claim="If the products of queries and keys are not divided by the square root of their width, "
    "softmax is nearly one-hot for wide heads and passes a smaller gradient; narrow heads hardly "
    "need it.",
    formula="softmax(Q K' / sqrt(d)) V, since q · k has variance d if the entries of q and k are "
    "independent with variance 1",
    method="Softmax over 64 random keys, with and without the division, for widths from 4 to "
    "1,024: entropy of the weights and norm of the gradient at the scores. Then small Transformers "
    "of width 64, with one head or with 8, learn the grammar corpus with and without it.",
    change="regard train tiny --set model.scale_scores=false --set model.heads=1 trains such a "
    "model on your own data; saturation(width, scaled, seed) measures one width.",
    meaning="Keep the scaling: it costs nothing, and without it the width of the heads becomes a "
    "hidden setting of the temperature, which the learning rate then has to repair.",
    measure=measure,
)
