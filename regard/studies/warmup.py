"""Warm-up of the learning rate, with post-norm and with pre-norm."""

from __future__ import annotations

from regard.studies.ablation import ablate
from regard.studies.base import Finding, Study, above
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

ADAM = ("training.optimizer.kind=adamw", "training.optimizer.rate=5e-3")
"""That of the paper, whose estimates of the second moment are poor in the first steps."""

VARIANTS = {
    f"{norm}-norm, {name}": [
        *ADAM,
        "model.layers=4",
        f"model.norm={norm}",
        f"training.optimizer.warmup={steps}",
    ]
    for norm in ("post", "pre")
    for name, steps in {"warm-up": 75, "none": 1}.items()
}


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory, steps=300)
    found = ablate("validation loss", "nats per token", VARIANTS, task.losses)
    post, pre = (
        found.change(f"{norm}-norm, none", f"{norm}-norm, warm-up") for norm in ("post", "pre")
    )
    return Finding(
        f"Without warm-up the loss of post-norm changes by {post.value:+.3f} nats per token, that "
        f"of pre-norm by {pre.value:+.3f}.",
        {**found.numbers, "cost without warm-up, post-norm": post, "cost, pre-norm": pre},
        (
            above("post-norm needs warm-up", post, 0.0),
            above("pre-norm needs it less", post, pre),
            found.lower("pre-norm trains better", "pre-norm, warm-up", "post-norm, warm-up"),
        ),
        (found.chart("Validation loss with and without warm-up"),),
    )


STUDY = Study(
    title="Warm-up, post-norm and pre-norm",
    claim="The Transformer of the paper, with normalisation after each sub-layer, needs the "
    "learning rate to be warmed up; with normalisation before it, that hardly matters.",
    formula="rate_t = rate · min(1, t / warmup) · decay; post: norm(x + f(x)), pre: x + f(norm(x))",
    method="Transformers of four layers learn the grammar corpus with post-norm and pre-norm, "
    "for 300 steps at the same rate, with a warm-up of 75 and without any.",
    change="--set model.norm=post --set training.optimizer.warmup=1; the higher the rate and the "
    "deeper the model, the larger the effect.",
    meaning="Use pre-norm and a short warm-up; it costs nothing and saves a failed run.",
    measure=measure,
)
