"""BLEU is useful but imperfect: correct paraphrases score low, wrong sentences score high."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from regard.corpora.clause import Sentence
from regard.corpora.grammar import realise
from regard.corpora.inflection import Tense
from regard.corpora.lexicon.conjunctions import BECAUSE, SINCE
from regard.corpora.phrases import NounPhrase
from regard.corpora.sentences import SentenceSampler
from regard.drawing.charts import Bars, Lines
from regard.metrics.base import Metric
from regard.metrics.table import QUICK
from regard.metrics.text import Bleu, CharacterF
from regard.studies.base import Finding, Number, Study, above, difference, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

STEPS = (100, 200, 400, 800)
METRICS = (Bleu(QUICK), CharacterF(QUICK))


def time_elsewhere(sentence: Sentence) -> bool:
    """The time first instead of later, or the other way round."""
    main = sentence.main
    possible = main.time is not None and not (main.question or main.front or sentence.other)
    main.time_first = not main.time_first
    return possible


def perfect_for_past(sentence: Sentence) -> bool:
    """Spoken German: "hat überquert" for "überquerte"."""
    clauses = [each for each in (sentence.main, sentence.other) if each is not None]
    past = [each for each in clauses if each.tense is Tense.PAST and not each.modal]
    past = [each for each in past if each.predicate is None]
    for clause in past:
        clause.tense = Tense.PERFECT
    return bool(past)


def clauses_exchanged(sentence: Sentence) -> bool:
    """The subordinate clause first instead of last."""
    possible = sentence.other is not None and not sentence.coordinated
    possible = possible and sentence.conjunction in (BECAUSE, SINCE) and not sentence.other_first
    sentence.other_first = not sentence.other_first
    return possible


def other_conjunction(sentence: Sentence) -> bool:
    """weil and da give the same reason."""
    other = {BECAUSE: SINCE, SINCE: BECAUSE}.get(sentence.conjunction or ("", ""))
    sentence.conjunction = other
    return other is not None


def negated(sentence: Sentence) -> bool:
    """The opposite: with a negation where there was none, or without it."""
    sentence.main.negative = not sentence.main.negative
    return sentence.main.front is None


def other_number(sentence: Sentence) -> bool:
    """One for many, or many for one."""
    phrase = sentence.main.direct
    if not isinstance(phrase, NounPhrase) or phrase.noun.mass or not phrase.definite:
        return False
    phrase.plural = not phrase.plural
    return True


def roles_exchanged(sentence: Sentence) -> bool:
    """The object does it to the subject."""
    main = sentence.main
    if not isinstance(main.direct, NounPhrase) or not isinstance(main.subject, NounPhrase):
        return False
    main.subject, main.direct = main.direct, main.subject
    return main.front is None and main.subject.definite and main.direct.definite


Change = Callable[[Sentence], bool]
CORRECT: tuple[Change, ...] = (
    *(time_elsewhere, perfect_for_past, clauses_exchanged, other_conjunction),
)
WRONG: tuple[Change, ...] = (negated, other_number, roles_exchanged)


@dataclass(frozen=True)
class Case:
    """A reference, other translations of the same source, and sentences that mean something
    else."""

    reference: str
    correct: tuple[str, ...]
    wrong: tuple[str, ...]


def cases(count: int, seed: int) -> Iterator[Case]:
    """Sentences that have at least one of each."""
    sampler = SentenceSampler(random.Random(f"bleu {seed}"))
    while count:
        sentence = sampler.sentence()
        reference = realise(sentence).target
        correct, wrong = (_changed(sentence, changes) for changes in (CORRECT, WRONG))
        if correct and wrong and reference not in (*correct, *wrong):
            count -= 1
            yield Case(reference, correct, wrong)


def _changed(sentence: Sentence, changes: Sequence[Change]) -> tuple[str, ...]:
    found = []
    for change in changes:
        copy = deepcopy(sentence)
        if change(copy):
            found.append(realise(copy).target)
    return tuple(found)


def scores(metric: Metric, outputs: Sequence[str], *references: Sequence[str]) -> list[float]:
    """Of each sentence by itself."""
    sources = [""] * len(outputs)
    return [metric.from_statistics(row) for row in metric.statistics(sources, outputs, *references)]


@dataclass(frozen=True)
class Judgement:
    """What a metric makes of cases: a correct and a wrong sentence of each, drawn at random."""

    correct: list[float]
    wrong: list[float]
    several: list[float]  # the correct one, with all other correct ones as references too

    @property
    def deceived(self) -> list[float]:
        """100 for each case whose wrong sentence scores higher, 50 if both score the same, or 0."""
        pairs = zip(self.correct, self.wrong, strict=True)
        return [50.0 * ((wrong > correct) + (wrong >= correct)) for correct, wrong in pairs]


def judge(metric: Metric, given: Sequence[Case], seed: int) -> Judgement:
    draw = random.Random(seed)
    correct = [draw.choice(each.correct) for each in given]
    wrong = [draw.choice(each.wrong) for each in given]
    references = [each.reference for each in given]
    several = [
        scores(
            metric, [one], [each.reference], *([other] for other in each.correct if other != one)
        )
        for each, one in zip(given, correct, strict=True)
        if len(set(each.correct)) > 1
    ]
    return Judgement(
        scores(metric, correct, references),
        scores(metric, wrong, references),
        [each[0] for each in several],
    )


def measure(laboratory: Laboratory) -> Finding:
    given = list(cases(laboratory.effort(4000, 60), 1))
    bleu, chrf = (judge(metric, given, 1) for metric in METRICS)
    some = [each for each in given if len(set(each.correct)) > 1]
    both = judge(METRICS[0], some, 1)
    gain = difference(both.several, both.correct, "BLEU")
    systems = _systems(laboratory)
    useful = rank_correlation(systems)
    reversals = [mean(each.deceived, "%") for each in (bleu, chrf)]
    spared = difference(bleu.deceived, chrf.deceived, "points")
    means = {
        "BLEU, correct paraphrases": mean(bleu.correct),
        "BLEU, wrong sentences": mean(bleu.wrong),
        "BLEU, correct, several references": mean(both.several),
        "chrF, correct paraphrases": mean(chrf.correct),
        "chrF, wrong sentences": mean(chrf.wrong),
    }
    return Finding(
        f"Correct paraphrases have {means['BLEU, correct paraphrases'].value:.0f} BLEU and wrong "
        f"sentences {means['BLEU, wrong sentences'].value:.0f}; yet BLEU ranks trained models "
        f"almost as exact match does (rank correlation {useful.value:.2f}).",
        {
            **means,
            "wrong before correct, BLEU": reversals[0],
            "wrong before correct, chrF": reversals[1],
            "gain by more references": gain,
            "rank correlation of BLEU with exact match": useful,
        },
        (
            above(
                "correct paraphrases score lower than wrong sentences",
                difference(bleu.wrong, bleu.correct, "BLEU"),
                0.0,
            ),
            above("BLEU prefers the wrong one more often than not", reversals[0], 50.0),
            above("chrF is deceived less often", spared, 0.0),
            above("more references help", gain, 0.0),
            above("it is useful: it ranks models", useful, 0.9),
        ),
        _charts(means, systems),
    )


def _charts(
    means: Mapping[str, Number], systems: Sequence[tuple[float, float]]
) -> tuple[Bars, Lines]:
    """Sentences, and models."""
    return (
        Bars(
            "Sentences against one reference",
            "score",
            {name: (each.value, each.margin or 0) for name, each in means.items()},
        ),
        Lines(
            "Trained models: BLEU against what it is to measure",
            "translated exactly (%)",
            "BLEU",
            {"models": sorted(systems)},
        ),
    )


def rank_correlation(points: Sequence[tuple[float, float]]) -> Number:
    """Spearman's, with the wider side of its interval by Fisher's transformation; 0 if one of the
    two numbers never changes."""
    both = np.array(points).T
    if both.std(axis=1).min() == 0:
        return Number(0.0)
    ranks = [[(each < x).mean() + (each == x).mean() / 2 for x in each] for each in both]
    found = min(float(np.corrcoef(ranks)[0, 1]), 1 - 1e-9)
    low = math.tanh(math.atanh(found) - 1.96 / math.sqrt(max(1, len(points) - 3)))
    return Number(found, found - low)


def _systems(laboratory: Laboratory) -> list[tuple[float, float]]:
    """Exact match and BLEU of models that were trained for different times."""
    found = []
    for steps in laboratory.effort(STEPS, (4, 8)):
        task = GrammarTask(laboratory, steps=steps)
        task.steps = steps
        references = [example.target for example in task.test]
        for run in task.runs():
            outputs = laboratory.predictor(run)([example.source for example in task.test])
            right = sum(a == b for a, b in zip(outputs, references, strict=True))
            value = METRICS[0].score(references, outputs, references).value
            found.append((100 * right / len(references), value))
    return found


STUDY = Study(
    title="BLEU is useful but imperfect",
    claim="A sentence can be translated in many valid ways, so a good translation that shares few "
    "n-grams with the reference gets a poor BLEU score; still, BLEU is useful.",
    formula="BLEU = min(1, exp(1 - r / c)) · (p_1 p_2 p_3 p_4)^(1/4), where p_n is the precision "
    "of n-grams, c the length of the output and r that of the reference",
    method="The grammar that generates the corpus also says what is correct. Each German "
    "reference is paraphrased (the time or the subordinate clause elsewhere, the perfect for the "
    "past, da for weil) and changed into something wrong (negated, another number, subject and "
    "object exchanged). Both are scored against the reference by BLEU and chrF, sentence by "
    "sentence. Then models trained for different times are scored by BLEU and by the share of "
    "sentences that they translate exactly.",
    change="Add a change to CORRECT or WRONG: a function that changes a sentence of the grammar "
    "and says whether it could. `regard evaluate` scores your own run by BLEU, chrF and TER; "
    "--reference adds references.",
    meaning="Trust BLEU to compare checkpoints of one model, or similar models on the same "
    "references. Do not conclude from it that a translation is right: a lost negation costs less "
    "than a free word order. Use several references if you have them, and read the outputs.",
    measure=measure,
)
