"""Phrases and clauses drawn by chance, within what makes sense and is natural in both languages."""

from __future__ import annotations

import random
from collections.abc import Sequence

from regard.corpora.clause import Clause
from regard.corpora.inflection import (
    Adverbial,
    Argument,
    Case,
    Determiner,
    Noun,
    Rendering,
    Tense,
)
from regard.corpora.lexicon.adjectives import ADJECTIVES_OF, DEGREES
from regard.corpora.lexicon.circumstances import (
    ANIMAL_PLACES,
    FREQUENCIES,
    PLACES,
    TIMES,
    WIDER_TIMES,
)
from regard.corpora.lexicon.determiners import (
    ALL,
    BARE,
    EVERY,
    MANY,
    NO,
    NUMBERS,
    POSSESSIVES,
    SOME,
    THE,
    THIS,
    A,
)
from regard.corpora.lexicon.nouns import FAMILY, NOUNS, OWNED, nouns_of
from regard.corpora.lexicon.persons import MEN, PRONOUNS, WOMEN
from regard.corpora.lexicon.verbs import MODALS, VERBS
from regard.corpora.phrases import (
    Both,
    Name,
    NounPhrase,
    Personal,
    Phrase,
    Predicate,
    Prepositional,
)

ALL_TENSES = (Tense.PAST, Tense.PAST, Tense.PRESENT, Tense.PERFECT, Tense.FUTURE)
SINGULAR_ONLY = (A, EVERY)
COUNTING = (MANY, SOME, *NUMBERS)
# Behind these an English pronoun sounds right; "they picked up him" does not.
EASY_PARTICLES = ("", "for", "at", "to")
YOUNG = ("child", "boy", "girl", "calf", "lamb", "foal")
NOT_YOUNG = ("old", "rich", "famous")
# One has only one of these.
UNIQUE = ("mother", "father", "boss", "name")
# Kinds that are rarely many at once, and kinds that are never too much of anything.
SINGLE = ("person", "building", "room", "area", "way", "nature")
NEVER_TOO = ("building", "area", "way", "nature", "abstract", "barrier", "part", "transport")


class Drafter:
    """Draws phrases and clauses from one stream of chance."""

    def __init__(self, chance: random.Random) -> None:
        """Everything random comes from `chance`."""
        self.chance = chance
        self.verbs = list(VERBS.values())

    def likely(self, probability: float) -> bool:
        """True with the given probability."""
        return self.chance.random() < probability

    def noun_phrase(
        self, noun: Noun, determiners: Sequence[Determiner], described: float = 0.3
    ) -> NounPhrase:
        """A noun with a determiner, in a number that both allow, and perhaps an adjective."""
        determiner = self.chance.choice(determiners)
        if determiner in POSSESSIVES and noun not in OWNED:
            determiner = THE
        if determiner is A and noun in FAMILY:
            determiner = self.chance.choice(POSSESSIVES)
        if noun.mass and (determiner in SINGULAR_ONLY or not determiner.english):
            determiner = THE if determiner is EVERY else BARE
        plural = not noun.mass and (not determiner.english or self.likely(0.2))
        plural = plural and determiner not in SINGULAR_ONLY
        plural = plural and not (determiner in POSSESSIVES and noun.english in UNIQUE)
        adjective = self.chance.choice(ADJECTIVES_OF[noun.kind]) if self.likely(described) else None
        if adjective and noun.english in YOUNG and adjective.english in NOT_YOUNG:
            adjective = None
        return NounPhrase(noun, determiner, plural, adjective)

    def subject(self, kinds: tuple[str, ...], definite: bool = False) -> Phrase:
        """A subject; that of a denied clause is definite, so that nicht has one place only."""
        if "person" in kinds and self.likely(0.4):
            return self.person()
        possessive = self.chance.choice(POSSESSIVES)
        determiners = [THE, THE, THE, THE, possessive, possessive, THIS]
        if not definite:
            number = self.chance.choice(NUMBERS)
            determiners += [A, A, number, self.chance.choice([NO, EVERY, MANY, SOME, ALL])]
        return self.noun_phrase(self.chance.choice(nouns_of(kinds)), determiners)

    def person(self) -> Phrase:
        """A pronoun, a name or two people."""
        if self.likely(0.65):
            return Personal(PRONOUNS[self.chance.choice(list(PRONOUNS))])
        if self.likely(0.15):
            first, second = self.chance.sample(nouns_of(("person",)), 2)
            return Both(NounPhrase(first, THE), NounPhrase(second, THE))
        one, two = self.chance.sample(MEN + WOMEN, 2)
        return Both(Name(one), Name(two)) if self.likely(0.2) else Name(one)

    def object(self, argument: Argument, clause: Clause) -> Phrase:
        """An object that differs from the subject."""
        kinds = argument.kinds
        if "person" in kinds and clause.verb.particle in EASY_PARTICLES and self.likely(0.3):
            return self.other_person(clause.subject)
        possessive = self.chance.choice(POSSESSIVES)
        determiners = [THE, THE, THE, THE, A, A, A, possessive, THIS]
        noun = self.chance.choice(nouns_of(kinds))
        while noun in clause.subject.nouns():
            noun = self.chance.choice(nouns_of(kinds))
        if argument.case is Case.ACCUSATIVE and not argument.german and noun.kind not in SINGLE:
            determiners.append(BARE)
            if not clause.negative:
                determiners += [self.chance.choice(NUMBERS), self.chance.choice([MANY, SOME])]
        phrase = self.noun_phrase(noun, determiners)
        phrase.plural = phrase.plural and (not argument.german or noun.kind in ("person", "animal"))
        return phrase

    def other_person(self, subject: Phrase) -> Phrase:
        """A pronoun or a name that is not the subject itself."""
        if self.likely(0.7):
            others = [
                pronoun
                for pronoun in PRONOUNS.values()
                if pronoun.person == 3 or pronoun.person != subject.person
            ]
            return Personal(self.chance.choice(others))
        taken = [member.name for member in subject.members() if isinstance(member, Name)]
        return Name(self.chance.choice([name for name in MEN + WOMEN if name not in taken]))

    def predicate(self, kind: str, plain: bool = False) -> Predicate:
        """An adjective that suits the kind, with a degree if it has any."""
        adjective = self.chance.choice(ADJECTIVES_OF[kind])
        degrees = [None, None, *(DEGREES[1:] if kind in NEVER_TOO else DEGREES)]
        if plain or adjective.absolute:
            degrees = [None]
        return Predicate(adjective, self.chance.choice(degrees))

    def clause(
        self,
        tenses: Sequence[Tense] = ALL_TENSES,
        denial: float = 0.22,
        definite: bool = False,
        lively: bool = False,
    ) -> Clause:
        """A clause with verb, subject and objects; `lively` leaves out verbs of state."""
        verb = self.chance.choice(self.verbs)
        while lively and verb.state:
            verb = self.chance.choice(self.verbs)
        negative = self.likely(denial)
        subject = self.subject(verb.subjects, definite or negative)
        return self.finish(Clause(subject, verb, negative=negative), tenses)

    def finish(self, clause: Clause, tenses: Sequence[Tense], fixed: bool = False) -> Clause:
        """Choose a tense that is natural in both languages, and fill the places of the verb.

        A state has no perfect, du has no simple past, and "they read" is always past. Unless the
        subject is fixed, it gives way to the tense.
        """
        subject, verb = clause.subject, clause.verb
        clause.tense = self.chance.choice(tenses)
        if verb.state and clause.tense in (Tense.PERFECT, Tense.FUTURE):
            clause.tense = Tense.PRESENT
        while subject.person == 2 and clause.tense is Tense.PAST:
            subject = clause.subject = self.subject(verb.subjects, definite=True)
        unclear = verb.base == verb.past and (subject.plural or subject.person != 3)
        if unclear and clause.tense is Tense.PRESENT and fixed:
            clause.tense = Tense.PAST
        elif unclear and clause.tense is Tense.PRESENT:
            clause.subject = NounPhrase(self.chance.choice(nouns_of(verb.subjects)), THE)
        for argument in verb.arguments:
            clause.fill(argument, self.object(argument, clause))
        return clause

    def add_circumstances(self, clause: Clause) -> Clause:
        """Perhaps a modal verb, a place, a time or a frequency."""
        lively = not clause.verb.state
        if lively and self.likely(0.4):
            self.add_modal(clause)
        if clause.verb.takes_place and self.likely(0.4):
            clause.place = self.place(clause.subject)
        if lively and self.likely(0.35):
            clause.time = self.time(clause)
        elif lively and not clause.modal and not clause.negative and self.likely(0.2):
            clause.frequency = self.frequency(clause)
        return clause

    def add_modal(self, clause: Clause) -> None:
        """A modal verb for somebody who can want and must; the tense stays."""
        kinds = [noun.kind for noun in clause.subject.nouns()]
        if clause.verb.involuntary or any(kind not in ("person", "animal") for kind in kinds):
            return
        limited = clause.negative or clause.question
        modals = [
            modal
            for modal in MODALS.values()
            if modal.tense is clause.tense and (modal.free or not limited)
        ]
        clause.modal = self.chance.choice(modals) if modals else None

    def place(self, subject: Phrase) -> Prepositional:
        """Where it happens; German answers with the dative."""
        nouns = subject.nouns()
        wild = bool(nouns) and nouns[0].kind == "animal"
        preposition, names = self.chance.choice(ANIMAL_PLACES if wild else PLACES)
        determiners = [THE, THE, THE, A, self.chance.choice(POSSESSIVES)]
        phrase = self.noun_phrase(NOUNS[self.chance.choice(names)], determiners, described=0.15)
        phrase.plural = False
        return Prepositional(preposition, Case.DATIVE, phrase)

    def time(self, clause: Clause) -> Adverbial:
        """An expression of time that suits the tense; habits are not denied."""
        times = TIMES[clause.tense]
        if not clause.modal and not clause.negative and not clause.question:
            times = times + WIDER_TIMES.get(clause.tense, [])
        return self.chance.choice(times)

    def frequency(self, clause: Clause) -> Rendering | None:
        """Often or never; one never does "some" or "three" of anything."""
        counted = isinstance(clause.direct, NounPhrase) and clause.direct.determiner in COUNTING
        frequencies = FREQUENCIES[1:] if counted else FREQUENCIES
        return None if clause.tense is Tense.FUTURE else self.chance.choice(frequencies)
