"""The riddles: sentences with an "it" that only an adjective resolves.

In "The animal didn't cross the street because it was too tired" the adjective alone tells what
"it" is, and German has to say es, sie or er. The noun and the adjective of a riddle in the test
never meet in a riddle of the training set.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import cache

from regard.corpora.clause import Clause, Sentence
from regard.corpora.inflection import Adjective, Noun, Rendering, Tense
from regard.corpora.lexicon.adjectives import ADJECTIVES, DEGREES
from regard.corpora.lexicon.circumstances import TIMES
from regard.corpora.lexicon.conjunctions import ALTHOUGH, BECAUSE, causal
from regard.corpora.lexicon.determiners import POSSESSIVES, THE, THIS
from regard.corpora.lexicon.frames import FRAMES, NEUTRAL, Frame
from regard.corpora.lexicon.nouns import NOUNS, OWNED
from regard.corpora.lexicon.verbs import BE, MODALS, VERBS
from regard.corpora.phrases import NounPhrase, Predicate, Referring


class Part(Enum):
    """The parts of a corpus."""

    TRAIN = "train"
    VALID = "valid"
    TEST = "test"


@dataclass(frozen=True, eq=False)
class Riddle:
    """A frame with the noun that "it" refers to, and the adjective that gives it away."""

    frame: Frame
    noun: Noun
    adjective: Adjective
    is_subject: bool
    against: bool


def all_riddles() -> list[Riddle]:
    """Every frame with every antecedent and adjective it allows."""
    return [
        Riddle(frame, NOUNS[noun], ADJECTIVES[adjective], is_subject, against)
        for frame in FRAMES
        for nouns, adjectives, is_subject, against in (
            (frame.subjects, frame.subject_against, True, True),
            (frame.objects, frame.object_against, False, True),
            (frame.subjects, frame.subject_for, True, False),
            (frame.objects, frame.object_for, False, False),
        )
        for noun in nouns
        for adjective in adjectives
    ]


RIDDLES = all_riddles()
STREET_COMBINATIONS = [("animal", "tired"), ("street", "wide")]


def held_out_combinations() -> dict[tuple[str, str], Part]:
    """Give every pair of antecedent and adjective to train, valid or test, once and for all.

    A noun or an adjective gives away at most a third of its combinations, so that training sees
    each of them by itself. The two of the street belong to the test.
    """
    combinations = sorted({(riddle.noun.english, riddle.adjective.english) for riddle in RIDDLES})
    nouns = Counter(noun for noun, _ in combinations)
    adjectives = Counter(adjective for _, adjective in combinations)
    random.Random("held out").shuffle(combinations)
    part_of = dict.fromkeys(combinations, Part.TRAIN)
    given_nouns: Counter[str] = Counter()
    given_adjectives: Counter[str] = Counter()
    for index, (noun, adjective) in enumerate([*STREET_COMBINATIONS, *combinations]):
        spare = (
            given_nouns[noun] < nouns[noun] // 3
            and given_adjectives[adjective] < adjectives[adjective] // 3
        )
        if spare and part_of[noun, adjective] is Part.TRAIN:
            valid = index % 2 and index >= len(STREET_COMBINATIONS)
            part_of[noun, adjective] = Part.VALID if valid else Part.TEST
            given_nouns[noun] += 1
            given_adjectives[adjective] += 1
    return part_of


PART_OF = held_out_combinations()


@cache
def riddles_of(part: Part, gender: str, is_subject: bool) -> list[list[Riddle]]:
    """The riddles of one part whose answer has a gender and a place, a list for each frame."""
    by_frame: dict[Frame, list[Riddle]] = {}
    for riddle in RIDDLES:
        belongs = PART_OF[riddle.noun.english, riddle.adjective.english] is part
        fits = riddle.noun.gender == gender and riddle.is_subject == is_subject
        if belongs and fits and partners(riddle):
            by_frame.setdefault(riddle.frame, []).append(riddle)
    return list(by_frame.values())


@cache
def partners(riddle: Riddle) -> list[Noun]:
    """The nouns for the other place: of another gender, so that German has to decide."""
    names = riddle.frame.objects if riddle.is_subject else riddle.frame.subjects
    return [NOUNS[name] for name in names if NOUNS[name].gender != riddle.noun.gender]


class Riddler:
    """Draws riddles of one part of the corpus, with genders and places in balance."""

    def __init__(self, chance: random.Random, part: Part) -> None:
        """Everything random comes from `chance`."""
        self.chance = chance
        self.part = part

    def sentence(self, turn: int) -> Sentence:
        """Choose the answer first, then a sentence around it.

        Genders and places take turns, so that always guessing the same one is of no use.
        """
        gender, is_subject = "mfn"[turn % 3], turn // 3 % 2 == 0
        frames = riddles_of(self.part, gender, is_subject)
        riddle = self.chance.choice(self.chance.choice(frames))
        antecedent = self.phrase(riddle.noun)
        partner = self.phrase(self.chance.choice(partners(riddle)))
        subject, other = (antecedent, partner) if is_subject else (partner, antecedent)
        surprise = self.chance.random() < 0.3
        main = main_clause(riddle.frame, subject, other, riddle.against != surprise)
        self.settle_tense(main, riddle)
        because = self.chance.choice(causal(main.tense))
        predicate = Predicate(riddle.adjective, self.degree(riddle, surprise))
        return with_reason(main, ALTHOUGH if surprise else because, antecedent, predicate)

    def phrase(self, noun: Noun) -> NounPhrase:
        """One of the two nouns; its own adjective must not give the answer away."""
        determiners = [THE, THE, THE, THE, THE, THIS]
        if noun in OWNED:
            determiners.append(self.chance.choice(POSSESSIVES))
        adjectives = NEUTRAL.get(noun.kind, [])
        described = adjectives and self.chance.random() < 0.25
        adjective = self.chance.choice(adjectives) if described else None
        return NounPhrase(noun, self.chance.choice(determiners), adjective=adjective)

    def settle_tense(self, main: Clause, riddle: Riddle) -> None:
        """Choose tense, modal verb and time; a state allows for little of this."""
        tenses = [Tense.PAST, Tense.PAST, Tense.PAST, Tense.PRESENT]
        if main.verb.state:
            main.tense = self.chance.choice(tenses)
            return
        main.tense = self.chance.choice([*tenses, Tense.PERFECT, Tense.FUTURE])
        if riddle.against and self.chance.random() < 0.3:
            modals = {Tense.PAST: MODALS["could"], Tense.PRESENT: MODALS["can"]}
            main.modal = modals.get(main.tense)
        if riddle.frame.lively and self.chance.random() < 0.2:
            main.time = self.chance.choice(TIMES[main.tense])
            main.time_first = self.chance.random() < 0.4

    def degree(self, riddle: Riddle, surprise: bool) -> Rendering | None:
        """Too much hinders; what happens all the same can only be very much so."""
        too, so, very, quite = DEGREES
        degrees = [None, so, very]
        if surprise:
            degrees.append(quite)
        elif riddle.against:
            degrees += [too, too, too]
        return None if riddle.adjective.absolute else self.chance.choice(degrees)


def main_clause(frame: Frame, subject: NounPhrase, other: NounPhrase, negative: bool) -> Clause:
    """What the two nouns do, or do not do."""
    verb = VERBS[frame.verb]
    clause = Clause(subject, verb, negative=negative)
    clause.fill(verb.arguments[-1], other)
    return clause


def with_reason(
    main: Clause, link: Rendering, antecedent: NounPhrase, predicate: Predicate
) -> Sentence:
    """Add the clause in which the pronoun stands."""
    pronoun = Referring(antecedent)
    return Sentence(main, link, Clause(pronoun, BE, main.tense.simple, predicate=predicate))


def street(adjective: str, is_subject: bool) -> Sentence:
    """The animal didn't cross the street because it was too tired, or too wide."""
    animal, way = NounPhrase(NOUNS["animal"], THE), NounPhrase(NOUNS["street"], THE)
    main = main_clause(FRAMES[0], animal, way, negative=True)
    main.tense = Tense.PAST
    predicate = Predicate(ADJECTIVES[adjective], DEGREES[0])
    return with_reason(main, BECAUSE, animal if is_subject else way, predicate)
