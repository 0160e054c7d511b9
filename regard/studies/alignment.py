"""Attention as soft alignment: its error rate against the alignments of the grammar."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

from regard.corpora import grammar
from regard.drawing.charts import Bars
from regard.inspection.aligning import align, choose
from regard.inspection.alignment import AttentionHeads
from regard.metrics.alignment import Gold, Links, error_rate
from regard.predict import Predictor
from regard.studies.base import Finding, Number, Study, below, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

LUONG = ("model.attention=after", "model.score=dot")
CHOOSE = 100
"""Validation sentences by which the heads of the Transformer are chosen."""


def gold_of(examples: Sequence[grammar.Example]) -> list[Gold]:
    """Every link of the grammar is sure."""
    return [Gold(frozenset(each.alignment), frozenset(each.alignment)) for each in examples]


def diagonal(source: int, target: int) -> Links:
    """Each of `target` words with the source word at the same part of the sentence."""
    return frozenset(((2 * word + 1) * source // (2 * target), word) for word in range(target))


def one_link(example: grammar.Example) -> Links:
    """One gold link for each target word that has any: the best that one link per word can be."""
    of_word = {target: (source, target) for source, target in example.alignment}
    return frozenset(of_word.values())


def at_random(generator: random.Random, source: int, target: int) -> Links:
    """Each target word with any source word."""
    return frozenset((generator.randrange(source), word) for word in range(target))


def baseline(examples: Sequence[grammar.Example], link: Callable[[int, int], Links]) -> float:
    """The error rate, in per cent, of links that know only how many words there are."""
    found = [link(len(each.source.split()), len(each.target.split())) for each in examples]
    return 100 * error_rate(found, gold_of(examples))


def aligned(
    predictor: Predictor, examples: Sequence[grammar.Example], heads: AttentionHeads
) -> float:
    """The error rate, in per cent, if each target word is linked to where it looks most."""
    pairs = [(each.source, each.target) for each in examples]
    return 100 * error_rate(list(align(predictor, pairs, heads, "argmax")), gold_of(examples))


def chosen_heads(predictor: Predictor, examples: Sequence[grammar.Example]) -> AttentionHeads:
    """The heads whose mean aligns these sentences best."""
    pairs = [(each.source, each.target) for each in examples]
    return choose(predictor, pairs, "argmax", gold_of(examples)).best.heads


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory)
    valid = grammar.generate(0).valid[: laboratory.effort(CHOOSE, 20)]
    every = AttentionHeads()
    lstm = [laboratory.predictor(run) for run in task.runs(LUONG, "lstm_attention")]
    transformers = [laboratory.predictor(run) for run in task.runs()]
    found = {
        "LSTM, its attention": [aligned(each, task.test, every) for each in lstm],
        "Transformer, mean of all heads": [
            aligned(each, task.test, every) for each in transformers
        ],
        "Transformer, chosen heads": [
            aligned(each, task.test, chosen_heads(each, valid)) for each in transformers
        ],
        "random": [
            baseline(task.test, partial(at_random, random.Random(seed)))
            for seed in laboratory.seeds
        ],
    }
    numbers = {name: mean(values, "%") for name, values in found.items()}
    numbers["diagonal"] = Number(baseline(task.test, diagonal), None, "%")
    best = 100 * error_rate(list(map(one_link, task.test)), gold_of(task.test))
    numbers["the best that one link per word can be"] = Number(best, None, "%")
    recurrent, average, chosen = (numbers[name] for name in list(found)[:3])
    return Finding(
        f"The attention of an LSTM aligns words with an error rate of {recurrent.value:.0f} %, the "
        f"best heads of a Transformer with {chosen.value:.0f} %, the mean of all its heads with "
        f"{average.value:.0f} %; the diagonal has {numbers['diagonal'].value:.0f} %.",
        {f"alignment error rate, {name}": number for name, number in numbers.items()},
        (
            below("random links are worse than attention", recurrent, numbers["random"]),
            below("an LSTM's attention beats the diagonal", recurrent, numbers["diagonal"]),
            below("chosen heads of a Transformer do", chosen, numbers["diagonal"]),
            below("the mean of all its heads does", average, numbers["diagonal"]),
        ),
        (
            Bars(
                "Alignment error rate against the alignments of the grammar",
                "per cent; lower is better",
                {name: (number.value, number.margin or 0.0) for name, number in numbers.items()},
            ),
        ),
    )


STUDY = Study(
    title="Attention as soft alignment",
    claim="A model with attention learns which source words each target word comes from, without "
    "ever being shown an alignment: soft alignment is for free.",
    formula="link (argmax_j α_tj, t) for each target word t; "
    "AER = 1 - (|A and S| + |A and P|) / (|A| + |S|)",
    method="An LSTM with dot-product attention and a Transformer of two layers learn the grammar "
    "corpus, which knows its own alignments, for 800 steps. Test sentences and their right "
    "translations are read, and each target word is linked to the source word it looks at most. "
    "The Transformer's heads are averaged, which needs no alignments at all, or chosen by 100 "
    "validation sentences with gold alignments. Links that follow the diagonal, and random links, "
    "are what must be beaten; some words have two gold links, so that one link per word cannot be "
    "free of errors.",
    change="regard align aligns your own corpus; --choose with a gold file finds the heads. "
    "Attention at the moment a word is read, not written, is head@reading.",
    meaning="Attention shows roughly where a word comes from. It was trained to predict, not to "
    "align, and the error that remains is far more than one link per word explains: do not read "
    "single links as facts. In a decoder this small the mean of all heads and chosen ones are "
    "compared above; with more layers and heads, choose them.",
    measure=measure,
)
