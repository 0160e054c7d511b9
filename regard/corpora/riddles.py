"""Riddles: Winograd-style sentences with an "it" that only an adjective disambiguates.

In "The animal didn't cross the street because it was too tired", only the adjective shows what "it"
refers to, and German has to choose es, sie or er. The antecedent and the adjective of a test riddle
never occur together in a riddle of the training set.
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
from regard.corpora.phrases import NounPhrase, Predicate, ReferringPronoun


class Split(Enum):
    """The splits of a corpus."""

    TRAIN = "train"
    VALID = "valid"
    TEST = "test"


@dataclass(frozen=True, eq=False)
class Riddle:
    """A frame with the noun that "it" refers to and the adjective that disambiguates it."""

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


def held_out_combinations() -> dict[tuple[str, str], Split]:
    """Assign every combination of antecedent and adjective to one split, whatever the seed.

    At most a third of the combinations of any noun or adjective are held out, so that each word
    occurs in training. The two riddles of the street belong to the test set.
    """
    combinations = sorted({(riddle.noun.english, riddle.adjective.english) for riddle in RIDDLES})
    nouns = Counter(noun for noun, _ in combinations)
    adjectives = Counter(adjective for _, adjective in combinations)
    random.Random("held out").shuffle(combinations)
    split_of = dict.fromkeys(combinations, Split.TRAIN)
    held_nouns: Counter[str] = Counter()
    held_adjectives: Counter[str] = Counter()
    for index, (noun, adjective) in enumerate([*STREET_COMBINATIONS, *combinations]):
        available = (
            held_nouns[noun] < nouns[noun] // 3
            and held_adjectives[adjective] < adjectives[adjective] // 3
        )
        if available and split_of[noun, adjective] is Split.TRAIN:
            valid = index % 2 and index >= len(STREET_COMBINATIONS)
            split_of[noun, adjective] = Split.VALID if valid else Split.TEST
            held_nouns[noun] += 1
            held_adjectives[adjective] += 1
    return split_of


SPLIT_OF = held_out_combinations()


@cache
def riddles_of(split: Split, gender: str, is_subject: bool) -> list[list[Riddle]]:
    """The riddles of a split whose answer has this gender and role, in one list per frame."""
    by_frame: dict[Frame, list[Riddle]] = {}
    for riddle in RIDDLES:
        belongs = SPLIT_OF[riddle.noun.english, riddle.adjective.english] is split
        fits = riddle.noun.gender == gender and riddle.is_subject == is_subject
        if belongs and fits and partners(riddle):
            by_frame.setdefault(riddle.frame, []).append(riddle)
    return list(by_frame.values())


@cache
def partners(riddle: Riddle) -> list[Noun]:
    """Nouns for the other role, of another gender, so that German has to choose the pronoun."""
    names = riddle.frame.objects if riddle.is_subject else riddle.frame.subjects
    return [NOUNS[name] for name in names if NOUNS[name].gender != riddle.noun.gender]


class RiddleSampler:
    """Draws the riddles of one split, balanced in gender and role of the answer."""

    def __init__(self, generator: random.Random, split: Split) -> None:
        """All random choices come from `generator`."""
        self.generator = generator
        self.split = split

    def sentence(self, index: int) -> Sentence:
        """Riddle number `index`: choose the answer first, then a sentence around it.

        Gender and role alternate with the index, so that a constant guess gains nothing.
        """
        gender, is_subject = "mfn"[index % 3], index // 3 % 2 == 0
        frames = riddles_of(self.split, gender, is_subject)
        riddle = self.generator.choice(self.generator.choice(frames))
        antecedent = self.phrase(riddle.noun)
        partner = self.phrase(self.generator.choice(partners(riddle)))
        subject, other = (antecedent, partner) if is_subject else (partner, antecedent)
        concessive = self.generator.random() < 0.3
        main = main_clause(riddle.frame, subject, other, riddle.against != concessive)
        self.choose_tense(main, riddle)
        because = self.generator.choice(causal(main.tense))
        predicate = Predicate(riddle.adjective, self.degree(riddle, concessive))
        return with_reason(main, ALTHOUGH if concessive else because, antecedent, predicate)

    def phrase(self, noun: Noun) -> NounPhrase:
        """One of the two nouns, sometimes with an adjective that does not reveal the answer."""
        determiners = [THE, THE, THE, THE, THE, THIS]
        if noun in OWNED:
            determiners.append(self.generator.choice(POSSESSIVES))
        adjectives = NEUTRAL.get(noun.kind, [])
        described = adjectives and self.generator.random() < 0.25
        adjective = self.generator.choice(adjectives) if described else None
        return NounPhrase(noun, self.generator.choice(determiners), adjective=adjective)

    def choose_tense(self, main: Clause, riddle: Riddle) -> None:
        """Choose tense, modal verb and time; stative verbs only take a tense."""
        tenses = [Tense.PAST, Tense.PAST, Tense.PAST, Tense.PRESENT]
        if main.verb.stative:
            main.tense = self.generator.choice(tenses)
            return
        main.tense = self.generator.choice([*tenses, Tense.PERFECT, Tense.FUTURE])
        if riddle.against and self.generator.random() < 0.3:
            modals = {Tense.PAST: MODALS["could"], Tense.PRESENT: MODALS["can"]}
            main.modal = modals.get(main.tense)
        if riddle.frame.dynamic and self.generator.random() < 0.2:
            main.time = self.generator.choice(TIMES[main.tense])
            main.time_first = self.generator.random() < 0.4

    def degree(self, riddle: Riddle, concessive: bool) -> Rendering | None:
        """An adverb of degree: "too" explains a negated clause, "quite" goes with "although"."""
        too, so, very, quite = DEGREES
        degrees = [None, so, very]
        if concessive:
            degrees.append(quite)
        elif riddle.against:
            degrees += [too, too, too]
        return None if riddle.adjective.absolute else self.generator.choice(degrees)


def main_clause(frame: Frame, subject: NounPhrase, other: NounPhrase, negative: bool) -> Clause:
    """The main clause, with both nouns."""
    verb = VERBS[frame.verb]
    clause = Clause(subject, verb, negative=negative)
    clause.set_argument(verb.arguments[-1], other)
    return clause


def with_reason(
    main: Clause, conjunction: Rendering, antecedent: NounPhrase, predicate: Predicate
) -> Sentence:
    """Add the subordinate clause with the pronoun."""
    pronoun = ReferringPronoun(antecedent)
    return Sentence(main, conjunction, Clause(pronoun, BE, main.tense.simple, predicate=predicate))


def street(adjective: str, is_subject: bool) -> Sentence:
    """The animal didn't cross the street because it was too tired (or too wide)."""
    animal, way = NounPhrase(NOUNS["animal"], THE), NounPhrase(NOUNS["street"], THE)
    main = main_clause(FRAMES[0], animal, way, negative=True)
    main.tense = Tense.PAST
    predicate = Predicate(ADJECTIVES[adjective], DEGREES[0])
    return with_reason(main, BECAUSE, animal if is_subject else way, predicate)
