"""Sentences built by hand from the words of the lexicon, and what must hold for every example."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from regard.corpora.clause import Clause, Sentence
from regard.corpora.grammar import Example, realise
from regard.corpora.inflection import Determiner, Modal, Rendering, Tense
from regard.corpora.lexicon.adjectives import ADJECTIVES
from regard.corpora.lexicon.circumstances import TIMES, WIDER_TIMES
from regard.corpora.lexicon.determiners import THE
from regard.corpora.lexicon.nouns import NOUNS
from regard.corpora.lexicon.persons import PRONOUNS
from regard.corpora.lexicon.verbs import BE, VERBS
from regard.corpora.phrases import (
    NounPhrase,
    PersonalPronoun,
    Phrase,
    Predicate,
    PrepositionalPhrase,
    RelativePronoun,
)

PAST, PRESENT, PERFECT, FUTURE = Tense.PAST, Tense.PRESENT, Tense.PERFECT, Tense.FUTURE
TIME = {
    " ".join(word for chunk in time.english for word in chunk): time
    for times in (*TIMES.values(), *WIDER_TIMES.values())
    for time in times
}


def noun(
    name: str, determiner: Determiner = THE, plural: bool = False, adjective: str = ""
) -> NounPhrase:
    return NounPhrase(NOUNS[name], determiner, plural, ADJECTIVES.get(adjective))


def person(name: str) -> PersonalPronoun:
    return PersonalPronoun(PRONOUNS[name])


def clause(subject: Phrase, verb: str, *objects: Phrase, tense: Tense = PAST) -> Clause:
    built = Clause(subject, VERBS[verb], tense)
    for argument, phrase in zip(built.verb.arguments, objects, strict=True):
        built.set_argument(argument, phrase)
    return built


def changed(
    built: Clause,
    *,
    negative: bool = False,
    question: bool = False,
    modal: Modal | None = None,
    time: str = "",
    time_first: bool = False,
    frequency: Rendering | None = None,
    location: PrepositionalPhrase | None = None,
    front: Phrase | None = None,
) -> Clause:
    built.negative, built.question, built.modal = negative, question, modal
    built.time, built.time_first = TIME[time] if time else None, time_first
    built.frequency, built.location, built.front = frequency, location, front
    return built


def describe(
    subject: Phrase, adjective: str, degree: Rendering | None = None, tense: Tense = PAST
) -> Clause:
    return Clause(subject, BE, tense, predicate=Predicate(ADJECTIVES[adjective], degree))


def with_relative(
    phrase: NounPhrase, verb: str, *objects: Phrase, subject: Phrase | None = None
) -> NounPhrase:
    """Add a relative clause in the past; its subject defaults to the phrase itself."""
    pronoun = RelativePronoun(phrase)
    arguments = (*objects, pronoun) if subject else objects
    relative = clause(subject or pronoun, verb, *arguments)
    relative.front = pronoun
    phrase.relative = relative
    return phrase


Rendered = tuple[Clause, str, str]
"""A main clause, and its expected English and German."""


def examples(rows: Sequence[tuple[Clause | Sentence, str, str]]) -> pytest.MarkDecorator:
    """Run a test per row, named by its English sentence."""
    return pytest.mark.parametrize(
        ("built", "english", "german"), rows, ids=[english for _, english, _ in rows]
    )


def check_rendering(sentence: Sentence, english: str, german: str) -> None:
    example = realise(sentence)
    assert (example.source, example.target) == (english, german)
    check_structure(example)


def check_structure(example: Example) -> None:
    source, target = example.source.split(" "), example.target.split(" ")
    assert "" not in source
    assert "" not in target
    assert len(example.tree) == len(source)
    assert example.tree.count(0) == 1
    for start in range(1, len(source) + 1):
        word, steps = start, 0
        while word != 0:
            word, steps = example.tree[word - 1], steps + 1
            assert steps <= len(source)
    assert all(0 <= a < len(source) and 0 <= b < len(target) for a, b in example.alignment)
    assert list(example.alignment) == sorted(set(example.alignment))
    # Every word of either language is aligned.
    assert {a for a, _ in example.alignment} == set(range(len(source)))
    assert {b for _, b in example.alignment} == set(range(len(target)))
