"""Sentences built by hand from the words of the lexicon, and what must be true of every pair."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from regard.corpora.clause import Clause, Sentence
from regard.corpora.grammar import Pair, realise
from regard.corpora.inflection import Determiner, Modal, Rendering, Tense
from regard.corpora.lexicon.adjectives import ADJECTIVES
from regard.corpora.lexicon.circumstances import TIMES, WIDER_TIMES
from regard.corpora.lexicon.determiners import THE
from regard.corpora.lexicon.nouns import NOUNS
from regard.corpora.lexicon.persons import PRONOUNS
from regard.corpora.lexicon.verbs import BE, VERBS
from regard.corpora.phrases import (
    NounPhrase,
    Personal,
    Phrase,
    Predicate,
    Prepositional,
    Relative,
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


def person(name: str) -> Personal:
    return Personal(PRONOUNS[name])


def clause(subject: Phrase, verb: str, *objects: Phrase, tense: Tense = PAST) -> Clause:
    built = Clause(subject, VERBS[verb], tense)
    for argument, phrase in zip(built.verb.arguments, objects, strict=True):
        built.fill(argument, phrase)
    return built


def changed(
    built: Clause,
    *,
    negative: bool = False,
    question: bool = False,
    modal: Modal | None = None,
    time: str = "",
    time_first: bool = False,
    often: Rendering | None = None,
    place: Prepositional | None = None,
    front: Phrase | None = None,
) -> Clause:
    built.negative, built.question, built.modal = negative, question, modal
    built.time, built.time_first = TIME[time] if time else None, time_first
    built.frequency, built.place, built.front = often, place, front
    return built


def describe(
    subject: Phrase, adjective: str, degree: Rendering | None = None, tense: Tense = PAST
) -> Clause:
    return Clause(subject, BE, tense, predicate=Predicate(ADJECTIVES[adjective], degree))


def with_relative(
    phrase: NounPhrase, verb: str, *objects: Phrase, subject: Phrase | None = None
) -> NounPhrase:
    """Give the phrase a relative clause in the past; without a subject it is the subject itself."""
    pronoun = Relative(phrase)
    places = (*objects, pronoun) if subject else objects
    relative = clause(subject or pronoun, verb, *places)
    relative.front = pronoun
    phrase.relative = relative
    return phrase


Example = tuple[Clause, str, str]
"""A main clause, and what it must be in English and in German."""


def examples(rows: Sequence[tuple[Clause | Sentence, str, str]]) -> pytest.MarkDecorator:
    """Run a test for each example, under the name of its English."""
    return pytest.mark.parametrize(
        ("built", "english", "german"), rows, ids=[english for _, english, _ in rows]
    )


def check_rendering(sentence: Sentence, english: str, german: str) -> None:
    pair = realise(sentence)
    assert (pair.source, pair.target) == (english, german)
    check_structure(pair)


def check_structure(pair: Pair) -> None:
    source, target = pair.source.split(" "), pair.target.split(" ")
    assert "" not in source
    assert "" not in target
    assert len(pair.heads) == len(source)
    assert pair.heads.count(-1) == 1
    for start in range(len(source)):
        place, steps = start, 0
        while place != -1:
            place, steps = pair.heads[place], steps + 1
            assert steps <= len(source)
    assert all(0 <= a < len(source) and 0 <= b < len(target) for a, b in pair.alignment)
    assert list(pair.alignment) == sorted(set(pair.alignment))
    # Every English word is rendered, and every German one renders something.
    assert {a for a, _ in pair.alignment} == set(range(len(source)))
    assert {b for _, b in pair.alignment} == set(range(len(target)))
