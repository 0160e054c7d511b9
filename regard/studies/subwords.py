"""Subwords against out-of-vocabulary words, at the same size of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regard.corpora import grammar
from regard.data.batch import UNKNOWN
from regard.drawing.charts import Bars
from regard.runs.folder import Run
from regard.studies.ablation import Ablation
from regard.studies.base import Finding, Study, above, below, difference, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

VOCABULARY = 800
COMMON = (
    *("model.position=shaw", "training.optimizer.kind=muon", "training.optimizer.rate=3e-2"),
    *("tokenizer.joint=false", "model.tying=target", f"tokenizer.vocabulary={VOCABULARY}"),
)
KINDS = ("word", "bpe", "unigram")


def unknown_words(run: Run, texts: Sequence[str]) -> list[set[str]]:
    """The words of each target that a run's tokenizer does not know."""
    tokenizer = run.tokenizers().target
    found = []
    for text in texts:
        words = text.split()
        encoded = tokenizer.encode(words)
        found.append({word for word, ids in zip(words, encoded, strict=True) if UNKNOWN in ids})
    return found


def recall(outputs: Sequence[str], wanted: Sequence[set[str]]) -> float:
    """The percentage of the wanted words that are in the output of their line."""
    right = sum(len(words & set(text.split())) for text, words in zip(outputs, wanted, strict=True))
    return 100 * right / max(1, sum(map(len, wanted)))


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory, steps=500)
    test = grammar.generate(0).test[: laboratory.effort(500, 30)]
    targets = [each.target for each in test]
    sources = [each.source for each in test]
    runs = {kind: task.runs([*COMMON, f"tokenizer.kind={kind}"]) for kind in KINDS}
    rare = unknown_words(runs["word"][0], targets)  # the same for every seed
    total = sum(len(text.split()) for text in targets)
    outputs = {
        kind: [laboratory.predictor(run)(sources) for run in each] for kind, each in runs.items()
    }
    found = Ablation(
        "rare words translated",
        "%",
        {kind: [recall(each, rare) for each in seeds] for kind, seeds in outputs.items()},
    )
    exact = {
        kind: [100 * sum(map(str.__eq__, each, targets)) / len(test) for each in seeds]
        for kind, seeds in outputs.items()
    }
    unknown = {
        kind: mean([100 * sum(map(len, unknown_words(run, targets))) / total for run in each], "%")
        for kind, each in runs.items()
    }
    return Finding(
        f"With {VOCABULARY} words, {unknown['word'].value:.0f} % of the target words are unknown, "
        f"and with as many pieces {unknown['bpe'].value:.0f} %; of those words "
        f"{found['bpe'].value:.0f} % are then translated. Whole sentences are right in "
        f"{mean(exact['word']).value:.0f} and {mean(exact['bpe']).value:.0f} %.",
        {
            **{f"unknown target words, {kind}": number for kind, number in unknown.items()},
            **found.numbers,
            **{f"exact, {kind}": mean(each, "%") for kind, each in exact.items()},
        },
        (
            above("a vocabulary of words leaves some out", unknown["word"], 5.0),
            below("pieces leave none out", unknown["bpe"], 0.1),
            found.higher("pieces translate rare words", "bpe", "word", by=20.0),
            above("sentences gain too", difference(exact["bpe"], exact["word"], "%"), 0.0),
        ),
        _charts(found, exact),
    )


def _charts(found: Ablation, exact: Mapping[str, list[float]]) -> tuple[Bars, Bars]:
    """Words, and sentences."""
    return (
        found.chart("Words outside the vocabulary of words that are translated"),
        Bars(
            "Sentences translated exactly",
            "per cent",
            {kind: (mean(each).value, mean(each).margin or 0) for kind, each in exact.items()},
        ),
    )


STUDY = Study(
    title="Subwords against unknown words",
    claim="Out-of-vocabulary words are a difficulty of translation: a model of whole words cannot "
    "read or write a word outside its list. Pieces of words can spell any word with a vocabulary "
    "of the same size.",
    formula="unknown = target words w with w not in V_word; pieces: w = p_1 .. p_k, all p_i in "
    "V_piece",
    method="The same Transformer learns the grammar corpus for 500 steps with a vocabulary of 800 "
    "whole words, 800 pieces by byte-pair encoding and 800 by a unigram model. Of the target "
    "words that are not in the list of words, the share that each model writes in the right line "
    "is counted.",
    change="--set tokenizer.kind=word, bpe, unigram or character, and tokenizer.vocabulary; "
    "VOCABULARY and KINDS here.",
    meaning="Use subwords. Whole words make short lines and learn fast if the vocabulary holds "
    "nearly all of them, as in a closed domain; everywhere else they lose exactly the words that "
    "carry the message. Pieces make longer lines and take more steps to learn, so in a short "
    "training they gain words before they gain whole sentences.",
    measure=measure,
)
