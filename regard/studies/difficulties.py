"""The difficulties of translation, each with a probe that says what it costs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cached_property
from itertools import islice, takewhile
from typing import Optional

from regard.corpora import grammar
from regard.corpora.clause import Sentence
from regard.corpora.lexicon.determiners import THE
from regard.corpora.lexicon.nouns import NOUNS
from regard.corpora.phrases import NounPhrase
from regard.corpora.riddles import RiddleSampler, Split
from regard.corpora.sentences import SentenceSampler
from regard.data.batch import UNKNOWN
from regard.data.parallel import Parallel
from regard.drawing.charts import Bars, Lines
from regard.files import write_text
from regard.studies.base import Finding, Number, Study, above, difference, mean
from regard.studies.bleu import WRONG
from regard.studies.grammar_task import SETTINGS, TRANSFORMER, GrammarTask
from regard.studies.laboratory import Laboratory
from regard.studies.pronoun import accuracy

EVERY = 12
"""One noun of so many is kept out of the narrow training data."""
SIZES = (1000, 4000)
"""Pairs of a small corpus."""

Pair = tuple[str, str]
Document = tuple[grammar.Example, grammar.Example]
"""Two sentences; the pronoun of the second refers to a noun of the first."""


def plain(word: str) -> str:
    return word.strip(".,?").lower()


def forms(name: str) -> set[str]:
    """Singular and plural of an English noun."""
    noun = NOUNS[name]
    numbers = (False,) if noun.mass else (False, True)
    phrases = [NounPhrase(noun, THE, plural).english(False) for plural in numbers]
    return {plain(phrase[-1].text) for phrase in phrases}


UNSEEN = frozenset(form for name in sorted(NOUNS)[::EVERY] for form in forms(name))


def has_unseen(example: grammar.Example) -> bool:
    return any(plain(word) in UNSEEN for word in example.source.split())


def is_question(example: grammar.Example) -> bool:
    return example.source.endswith("?")


def exact(outputs: Sequence[str], examples: Sequence[grammar.Example]) -> float:
    """The percentage of sentences that are translated exactly."""
    right = sum(a == b.target for a, b in zip(outputs, examples, strict=True))
    return 100 * right / max(1, len(examples))


def documents(split: Split) -> Iterator[Document]:
    """ "The animal didn't cross the street. It was too tired." """
    sampler = RiddleSampler(random.Random(f"documents {split.value}"), split)
    index = 0
    while True:
        riddle = sampler.sentence(index)
        assert riddle.other is not None
        yield grammar.realise(Sentence(riddle.main)), grammar.realise(Sentence(riddle.other))
        index += 1


def pronoun_right(output: str, right: str) -> bool:
    """Whether the last sentence has the pronoun that the last sentence of `right` has."""
    ours, theirs = (
        {plain(word) for word in text.rstrip(".").split(".")[-1].split()} & grammar.GENDERED
        for text in (output, right)
    )
    return ours == theirs


def shared_start(one: str, other: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def other_form(word: str, other: str) -> bool:
    """Whether two words look like forms of one: der and dem, kleine and kleinen."""
    ours, theirs = plain(word), plain(other)
    most = max(1, min(len(ours), len(theirs)) - 2)
    near = abs(len(ours) - len(theirs)) <= 2
    same = takewhile(lambda both: both[0] == both[1], zip(ours, theirs, strict=False))
    return ours != theirs and near and len(list(same)) >= most


def wrong_words(outputs: Sequence[str], examples: Sequence[grammar.Example]) -> list[Pair]:
    """What was written and what is right, where an output of the right length differs."""
    lines = [(a.split(), b.target.split()) for a, b in zip(outputs, examples, strict=True)]
    return [
        (ours, right)
        for output, target in lines
        if len(output) == len(target)
        for ours, right in zip(output, target, strict=True)
        if plain(ours) != plain(right)
    ]


def share_of_forms(pairs: Sequence[Pair]) -> float:
    """The percentage of wrong words that are another form of the right one."""
    return 100 * sum(other_form(*pair) for pair in pairs) / max(1, len(pairs))


class Probes:
    """Each measures a difficulty on runs that differ in their training data only."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.task = GrammarTask(laboratory)
        self.test = grammar.generate(0).test[: laboratory.effort(1000, 60)]

    def outputs(
        self, data: Parallel, sources: Sequence[str], valid: Optional[Parallel] = None
    ) -> list[list[str]]:
        """The translations by a model for each seed that learned this data."""
        settings = [*SETTINGS, *TRANSFORMER]
        valid = valid or self.task.data("valid")
        return [
            self.laboratory.predictor(
                self.laboratory.trained("tiny", data, valid, self.task.steps, seed, settings)
            )(list(sources))
            for seed in self.laboratory.seeds
        ]

    def file(self, name: str, pairs: Callable[[], Sequence[Pair]]) -> Parallel:
        """Training data, written the first time it is asked for."""
        path = self.laboratory.scratch / f"difficulties-{name}-{self.task.pairs}.tsv"
        if not path.exists():
            write_text(path, "".join(f"{source}\t{target}\n" for source, target in pairs()))
        return Parallel(pairs=path)

    @cached_property
    def usual(self) -> list[list[str]]:
        """Translations of the test sentences after training on everything."""
        return self.outputs(self.task.data("train"), [each.source for each in self.test])

    @cached_property
    def narrow(self) -> list[list[str]]:
        """The same without questions and without some nouns, from as many pairs."""

        def pairs() -> list[Pair]:
            drawn = grammar.generate(2 * self.task.pairs).train
            kept = [each for each in drawn if not (has_unseen(each) or is_question(each))]
            return [(each.source, each.target) for each in kept[: self.task.pairs]]

        return self.outputs(self.file("narrow", pairs), [each.source for each in self.test])

    def cost_of_narrow(self, chosen: Callable[[grammar.Example], bool]) -> list[float]:
        """Points of exact match that the narrow data costs on some of the test sentences."""
        rows = [number for number, each in enumerate(self.test) if chosen(each)]
        examples = [self.test[row] for row in rows]
        wide, narrow = (
            [exact([output[row] for row in rows], examples) for output in outputs]
            for outputs in (self.usual, self.narrow)
        )
        return [a - b for a, b in zip(wide, narrow, strict=True)]

    def context(self) -> tuple[list[float], list[float]]:
        """The percentage of right pronouns in a sentence that is translated after the sentence
        before it, and by itself. The models have seen both."""

        def pairs(split: Split, count: int) -> list[Pair]:
            found: list[Pair] = []
            for first, second in islice(documents(split), count):
                found.append((second.source, second.target))
                found.append(joined((first, second)))
            return found

        data = self.file("documents", lambda: pairs(Split.TRAIN, self.task.pairs // 2))
        valid = self.file("documents-valid", lambda: pairs(Split.VALID, 100))
        test = list(islice(documents(Split.TEST), self.laboratory.effort(300, 10)))
        both, alone = [joined(each) for each in test], [each for _, each in test]
        sources = [*(source for source, _ in both), *(each.source for each in alone)]
        scores: tuple[list[float], list[float]] = ([], [])
        for output in self.outputs(data, sources, valid):
            halves = (output[: len(test)], output[len(test) :])
            for values, half in zip(scores, halves, strict=True):
                right = sum(
                    pronoun_right(a, each.target) for a, each in zip(half, alone, strict=True)
                )
                values.append(100 * right / len(test))
        return scores

    def by_size(self) -> dict[int, list[float]]:
        """Exact match after training on few pairs and on all."""
        scores = {}
        for size in SIZES:
            count = min(size, self.task.pairs // 2)
            drawn = grammar.generate(self.task.pairs).train[:count]
            data = self.file(f"{size}", lambda: [(x.source, x.target) for x in drawn])  # noqa: B023
            outputs = self.outputs(data, [each.source for each in self.test])
            scores[size] = [exact(each, self.test) for each in outputs]
        return {**scores, self.task.pairs: [exact(each, self.test) for each in self.usual]}

    def pronouns(self) -> tuple[list[float], list[float]]:
        """Wrong pronouns of riddles, and wrong words in general, in per cent."""
        riddles = [each for each in self.test if each.pronoun is not None]
        predictors = [self.laboratory.predictor(run) for run in self.task.runs()]
        wrong = [100 - accuracy(each, riddles) for each in predictors]
        others = []
        for output in self.usual:
            kept = [(a.split(), b.target.split()) for a, b in zip(output, self.test, strict=True)]
            missed = sum(len(set(target) - set(words)) for words, target in kept)
            others.append(100 * missed / sum(len(set(target)) for _, target in kept))
        return wrong, others

    def meaning(self) -> list[float]:
        """The percentage of sentences of which something else is more probable than the right
        translation: its negation, another number, or subject and object exchanged. Words that are
        not in the vocabulary are another difficulty: sentences with any are left out."""
        sampler, draw = SentenceSampler(random.Random("meaning")), random.Random("wrong")
        sentences = islice(iter(sampler.sentence, None), self.laboratory.effort(3000, 300))
        sides, found = self.task.runs()[0].tokenizers(), []
        for sentence in sentences:
            right, wrong = grammar.realise(sentence), changed(sentence, draw.choice(WRONG))
            if wrong is not None and wrong != right.target:
                ids = (
                    *sides.source.encode([right.source]),
                    *sides.target.encode([right.target, wrong]),
                )
                if not any(UNKNOWN in each for each in ids):
                    found.append((right.source, right.target, wrong))
        mistaken = []
        for run in self.task.runs():
            score = self.laboratory.predictor(run).score
            rights, wrongs = (
                [total for total, _ in score((each[0], each[side]) for each in found)]
                for side in (1, 2)
            )
            more = sum(a < b for a, b in zip(rights, wrongs, strict=True))
            mistaken.append(100 * more / len(found))
        return mistaken

    def agreement(self) -> tuple[list[float], list[float]]:
        """The share of wrong words that are another form of the right one, and the same after the
        right words were exchanged at random, which is chance."""
        found, chance = [], []
        for output in self.usual:
            pairs = wrong_words(output, self.test)
            rights = [right for _, right in pairs]
            random.Random(1).shuffle(rights)
            found.append(share_of_forms(pairs))
            chance.append(
                share_of_forms(
                    [(ours, right) for (ours, _), right in zip(pairs, rights, strict=True)]
                )
            )
        return found, chance


def changed(sentence: Sentence, change: Callable[[Sentence], bool]) -> Optional[str]:
    """The German of a changed sentence; None if it cannot be changed in this way."""
    copy = deepcopy(sentence)
    return grammar.realise(copy).target if change(copy) else None


def joined(document: Document) -> Pair:
    first, second = document
    return f"{first.source} {second.source}", f"{first.target} {second.target}"


def measure(laboratory: Laboratory) -> Finding:
    probes = Probes(laboratory)
    sizes = probes.by_size()
    known = mean(
        probes.cost_of_narrow(lambda each: not (has_unseen(each) or is_question(each))), "points"
    )
    with_context, alone = probes.context()
    wrong_pronouns, wrong = probes.pronouns()
    agreement, chance = probes.agreement()
    costs = {
        "out-of-vocabulary words": mean(
            probes.cost_of_narrow(lambda each: has_unseen(each) and not is_question(each)), "points"
        ),
        "another domain": mean(
            probes.cost_of_narrow(lambda each: is_question(each) and not has_unseen(each)), "points"
        ),
        "no context over sentences": difference(with_context, alone, "points"),
        "low resource": difference(sizes[max(sizes)], sizes[min(sizes)], "points"),
        "pronouns": difference(wrong_pronouns, wrong, "points"),
        "agreement": difference(agreement, chance, "points"),
        "meaning": mean(probes.meaning(), "points"),
    }
    numbers = {
        **{f"cost, {name}": cost for name, cost in costs.items()},
        "cost of the narrow data on what it has": known,
        "right pronoun, with the sentence before": mean(with_context, "%"),
        "right pronoun, without": mean(alone, "%"),
        "wrong pronouns": mean(wrong_pronouns, "%"),
        "wrong words": mean(wrong, "%"),
        "wrong words that are another form": mean(agreement, "%"),
        **{f"exact, {size:,} pairs": mean(each, "%") for size, each in sizes.items()},
    }
    return _finding(costs, numbers, sizes)


EXPECTED = {
    "out-of-vocabulary words": "a word outside the training data costs the sentence",
    "another domain": "sentences of a kind that training lacks are lost",
    "no context over sentences": "a sentence by itself loses its pronoun",
    "low resource": "less data, fewer sentences right",
    "pronouns": "pronouns are wrong more often than other words",
    "agreement": "wrong words are wrong forms more often than chance",
    "meaning": "something with another meaning is more probable than the right translation",
}


def _finding(
    costs: dict[str, Number], numbers: dict[str, Number], sizes: dict[int, list[float]]
) -> Finding:
    worst = max(costs, key=lambda name: costs[name].value)
    return Finding(
        f"An unknown word costs {costs['out-of-vocabulary words'].value:.0f} points, another "
        f"domain {costs['another domain'].value:.0f}, a missing sentence before "
        f"{costs['no context over sentences'].value:.0f}, and a twentieth of the data "
        f"{costs['low resource'].value:.0f}; the worst is: {worst}.",
        numbers,
        tuple(above(text, costs[name], 0.0) for name, text in EXPECTED.items()),
        (
            Bars(
                "What each difficulty costs",
                "points",
                {name: (each.value, each.margin or 0) for name, each in costs.items()},
            ),
            Lines(
                "Sentences translated exactly",
                "training pairs",
                "per cent",
                {"exact": [(float(n), mean(each).value) for n, each in sizes.items()]},
                log_x=True,
            ),
        ),
    )


STUDY = Study(
    title="The difficulties of translation",
    claim="Translation by a neural network is not solved: words outside the vocabulary, text of "
    "another domain, context over several sentences, languages with little data, pronouns, "
    "agreement and sometimes the meaning of a sentence remain difficult.",
    formula="cost of a difficulty = score without it - score with it, paired by seed",
    method="One Transformer of whole words, 800 steps, and training data that differs. Unknown "
    "words and domain: without every twelfth noun and without questions, against data with them. "
    "Context: of sentences such as 'It was too tired.', the pronouns right after the sentence "
    "before, and without it; as test riddles pair nouns and adjectives that training does not, the "
    "adjective alone can mislead, and the level without context can be below chance. "
    "Low resource: 1,000, 4,000 and 20,000 pairs. Pronouns: wrong "
    "pronouns against wrong words of any kind. Agreement: wrong words that are another form of "
    "the right one, against the same words exchanged at random. Meaning: sentences of which a "
    "negation, another number or exchanged roles are more probable than the right translation.",
    change="EVERY is how rare unknown nouns are, SIZES are the small corpora; a probe is a method "
    "of Probes that returns a score for each seed, with and without the difficulty.",
    meaning="Find out which of these your text has before you change the model: most of them are "
    "cured by data. Use subwords for unknown words, some text of the new domain, the sentence "
    "before as part of the source, and probes like these for pronouns and agreement, which an "
    "average score hides.",
    measure=measure,
)
