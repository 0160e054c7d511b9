"""The feed-forward network: the only non-linearity besides softmax, and a convolution instead."""

from __future__ import annotations

from regard.studies.ablation import ablate
from regard.studies.base import Finding, Study
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory
from regard.studies.tagging_task import TaggingTask

VARIANTS = {
    "with": [],
    "without": ["model.inner=0"],
    "without, one more layer": ["model.inner=0", "model.layers=3"],
}


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory, steps=400)
    found = ablate("validation loss", "nats per token", VARIANTS, task.losses)
    tagging = TaggingTask(laboratory)
    tags = ablate(
        "accuracy of tags",
        "%",
        {"feed-forward": ["model.kernel=1"], "convolution of width 3": ["model.kernel=3"]},
        tagging.accuracies,
    )
    return Finding(
        f"Without feed-forward networks the loss is {found['without'].value:.3f} nats per token "
        f"instead of {found['with'].value:.3f}; a convolution in their place changes the accuracy "
        f"of tags by {tags.change('convolution of width 3', 'feed-forward').value:+.2f} points.",
        {**found.numbers, **tags.numbers},
        (
            found.lower("the feed-forward network helps", "with", "without"),
            found.lower("more attention does not replace it", "with", "without, one more layer"),
            tags.higher(
                "a convolution of width 3 helps tagging", "convolution of width 3", "feed-forward"
            ),
        ),
        (found.chart("With and without feed-forward networks"), tags.chart("Tagging")),
    )


STUDY = Study(
    title="The feed-forward network as the only non-linearity",
    claim="Attention combines values linearly, so the feed-forward network at each position is "
    "needed for expressiveness; in tagging, a convolution of width 3 in its place lets neighbours "
    "interact and improves the result.",
    formula="FFN(x) = max(0, x W1 + b1) W2 + b2; convolution: x_t becomes [x_(t-1), x_t, x_(t+1)]",
    method="Small Transformers learn the grammar corpus for 400 steps with and without "
    "feed-forward networks, and without them but with one more layer. Then taggers learn on which "
    "side of each word of the corpus its head is, with either kind of network.",
    change="--set model.inner=0 removes it; the recipes tagger and tagger_conv differ in the "
    "kernel.",
    meaning="In the usual sizes the feed-forward network has two thirds of the weights of an "
    "encoder layer, for a reason. For tagging, try the convolution when words are short of "
    "context.",
    measure=measure,
)
