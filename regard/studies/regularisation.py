"""Dropout and label smoothing, on a small corpus."""

from __future__ import annotations

from regard.studies.ablation import Ablation, ablate
from regard.studies.base import Finding, Study
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

VARIANTS = {
    "neither": [],
    "dropout": ["model.dropout=0.2"],
    "label smoothing": ["model.smoothing=0.1"],
}


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory, pairs=3000, steps=500)
    exact = ablate("exact translations", "%", VARIANTS, task.exact)
    losses: Ablation = ablate("validation loss", "nats per token", VARIANTS, task.losses)
    return Finding(
        f"With {task.pairs:,} pairs, {exact['neither'].value:.1f} % of the test sentences are "
        f"translated exactly, with dropout {exact['dropout'].value:.1f} %, with label smoothing "
        f"{exact['label smoothing'].value:.1f} %.",
        {**exact.numbers, **losses.numbers},
        (
            exact.higher("dropout helps", "dropout", "neither"),
            exact.higher("label smoothing helps", "label smoothing", "neither"),
            losses.higher("although it makes the loss worse", "label smoothing", "neither"),
        ),
        (exact.chart("Exact translations from a small corpus"), losses.chart("Validation loss")),
    )


STUDY = Study(
    title="Dropout and label smoothing",
    claim="Both regularise: dropout keeps a model from learning a small corpus by rote, and label "
    "smoothing costs perplexity but improves what is translated.",
    formula="dropout: x · Bernoulli(1 - p) / (1 - p); smoothing: target (1 - s) on the right "
    "token, s spread over all",
    method="Small Transformers learn 3,000 pairs of the grammar corpus for many epochs with "
    "neither or one of the two: exact translations of test sentences, and the loss without "
    "smoothing.",
    change="--set model.dropout=0.3 --set model.smoothing=0.1; `pairs` here is the size of "
    "the corpus.",
    meaning="Where a model sees its data many times, expect both to keep the validation loss from "
    "rising; whether translations gain is another question, so count them. Judge label smoothing "
    "by translations, not by the loss alone.",
    measure=measure,
)
