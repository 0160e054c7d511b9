"""Random phrases and clauses that make sense and are natural in both languages."""

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
    ANIMAL_LOCATIONS,
    FREQUENCIES,
    LOCATIONS,
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
    Coordination,
    Name,
    NounPhrase,
    PersonalPronoun,
    Phrase,
    Predicate,
    PrepositionalPhrase,
)

ALL_TENSES = (Tense.PAST, Tense.PAST, Tense.PRESENT, Tense.PERFECT, Tense.FUTURE)
SINGULAR_ONLY = (A, EVERY)
QUANTIFIERS = (MANY, SOME, *NUMBERS)
# An English pronoun can follow these; "they picked up him" is wrong.
PRONOUN_PARTICLES = ("", "for", "at", "to")
YOUNG = ("child", "boy", "girl", "calf", "lamb", "foal")
NOT_YOUNG = ("old", "rich", "famous")
# Nobody has more than one of these.
UNIQUE = ("mother", "father", "boss", "name")
# Kinds rarely used in the plural without an article, and kinds that are never "too" anything.
RARELY_PLURAL = ("person", "building", "room", "area", "way", "nature")
NEVER_TOO = ("building", "area", "way", "nature", "abstract", "barrier", "part", "transport")


class ClauseSampler:
    """Draws phrases and clauses from one random generator."""

    def __init__(self, generator: random.Random) -> None:
        """All random choices come from `generator`."""
        self.generator = generator
        self.verbs = list(VERBS.values())

    def likely(self, probability: float) -> bool:
        """True with the given probability."""
        return self.generator.random() < probability

    def noun_phrase(
        self, noun: Noun, determiners: Sequence[Determiner], described: float = 0.3
    ) -> NounPhrase:
        """A noun with a determiner, in a number that both allow, and sometimes an adjective."""
        determiner = self.generator.choice(determiners)
        if determiner in POSSESSIVES and noun not in OWNED:
            determiner = THE
        if determiner is A and noun in FAMILY:
            determiner = self.generator.choice(POSSESSIVES)
        if noun.mass and (determiner in SINGULAR_ONLY or not determiner.english):
            determiner = THE if determiner is EVERY else BARE
        plural = not noun.mass and (not determiner.english or self.likely(0.2))
        plural = plural and determiner not in SINGULAR_ONLY
        plural = plural and not (determiner in POSSESSIVES and noun.english in UNIQUE)
        adjective = (
            self.generator.choice(ADJECTIVES_OF[noun.kind]) if self.likely(described) else None
        )
        if adjective and noun.english in YOUNG and adjective.english in NOT_YOUNG:
            adjective = None
        return NounPhrase(noun, determiner, plural, adjective)

    def subject(self, kinds: tuple[str, ...], definite: bool = False) -> Phrase:
        """A subject; a negated clause needs a definite one, so that nicht has only one position."""
        if "person" in kinds and self.likely(0.4):
            return self.person()
        possessive = self.generator.choice(POSSESSIVES)
        determiners = [THE, THE, THE, THE, possessive, possessive, THIS]
        if not definite:
            number = self.generator.choice(NUMBERS)
            determiners += [A, A, number, self.generator.choice([NO, EVERY, MANY, SOME, ALL])]
        return self.noun_phrase(self.generator.choice(nouns_of(kinds)), determiners)

    def person(self) -> Phrase:
        """A pronoun, a name or two people."""
        if self.likely(0.65):
            return PersonalPronoun(PRONOUNS[self.generator.choice(list(PRONOUNS))])
        if self.likely(0.15):
            first, second = self.generator.sample(nouns_of(("person",)), 2)
            return Coordination(NounPhrase(first, THE), NounPhrase(second, THE))
        one, two = self.generator.sample(MEN + WOMEN, 2)
        return Coordination(Name(one), Name(two)) if self.likely(0.2) else Name(one)

    def object(self, argument: Argument, clause: Clause) -> Phrase:
        """An object other than the subject."""
        kinds = argument.kinds
        if "person" in kinds and clause.verb.particle in PRONOUN_PARTICLES and self.likely(0.3):
            return self.other_person(clause.subject)
        possessive = self.generator.choice(POSSESSIVES)
        determiners = [THE, THE, THE, THE, A, A, A, possessive, THIS]
        noun = self.generator.choice(nouns_of(kinds))
        while noun in clause.subject.nouns():
            noun = self.generator.choice(nouns_of(kinds))
        if (
            argument.case is Case.ACCUSATIVE
            and not argument.german
            and noun.kind not in RARELY_PLURAL
        ):
            determiners.append(BARE)
            if not clause.negative:
                determiners += [self.generator.choice(NUMBERS), self.generator.choice([MANY, SOME])]
        phrase = self.noun_phrase(noun, determiners)
        phrase.plural = phrase.plural and (not argument.german or noun.kind in ("person", "animal"))
        return phrase

    def other_person(self, subject: Phrase) -> Phrase:
        """A pronoun or a name that does not refer to the subject."""
        if self.likely(0.7):
            others = [
                pronoun
                for pronoun in PRONOUNS.values()
                if pronoun.person == 3 or pronoun.person != subject.person
            ]
            return PersonalPronoun(self.generator.choice(others))
        taken = [member.name for member in subject.members() if isinstance(member, Name)]
        return Name(self.generator.choice([name for name in MEN + WOMEN if name not in taken]))

    def predicate(self, kind: str, plain: bool = False) -> Predicate:
        """An adjective that suits the kind of noun, sometimes with a degree."""
        adjective = self.generator.choice(ADJECTIVES_OF[kind])
        degrees = [None, None, *(DEGREES[1:] if kind in NEVER_TOO else DEGREES)]
        if plain or adjective.absolute:
            degrees = [None]
        return Predicate(adjective, self.generator.choice(degrees))

    def clause(
        self,
        tenses: Sequence[Tense] = ALL_TENSES,
        negated: float = 0.22,
        definite: bool = False,
        dynamic: bool = False,
    ) -> Clause:
        """A clause with verb, subject and objects; `negated` is the probability of a negation.

        `dynamic` excludes stative verbs.
        """
        verb = self.generator.choice(self.verbs)
        while dynamic and verb.stative:
            verb = self.generator.choice(self.verbs)
        negative = self.likely(negated)
        subject = self.subject(verb.subjects, definite or negative)
        return self.complete(Clause(subject, verb, negative=negative), tenses)

    def complete(self, clause: Clause, tenses: Sequence[Tense], fixed: bool = False) -> Clause:
        """Choose a tense that is natural in both languages, and add the arguments of the verb.

        Stative verbs have no perfect, du has no simple past, and "they read" is always past. If
        tense and subject do not fit, the subject is replaced, or the tense if `fixed`.
        """
        subject, verb = clause.subject, clause.verb
        clause.tense = self.generator.choice(tenses)
        if verb.stative and clause.tense in (Tense.PERFECT, Tense.FUTURE):
            clause.tense = Tense.PRESENT
        while subject.person == 2 and clause.tense is Tense.PAST:
            subject = clause.subject = self.subject(verb.subjects, definite=True)
        unclear = verb.base == verb.past and (subject.plural or subject.person != 3)
        if unclear and clause.tense is Tense.PRESENT and fixed:
            clause.tense = Tense.PAST
        elif unclear and clause.tense is Tense.PRESENT:
            clause.subject = NounPhrase(self.generator.choice(nouns_of(verb.subjects)), THE)
        for argument in verb.arguments:
            clause.set_argument(argument, self.object(argument, clause))
        return clause

    def add_circumstances(self, clause: Clause) -> Clause:
        """Add a modal verb, a location, a time or a frequency, each with some probability."""
        dynamic = not clause.verb.stative
        if dynamic and self.likely(0.4):
            self.add_modal(clause)
        if clause.verb.takes_location and self.likely(0.4):
            clause.location = self.location(clause.subject)
        if dynamic and self.likely(0.35):
            clause.time = self.time(clause)
        elif dynamic and not clause.modal and not clause.negative and self.likely(0.2):
            clause.frequency = self.frequency(clause)
        return clause

    def add_modal(self, clause: Clause) -> None:
        """Add a modal verb of the same tense if the subject is a person or an animal."""
        kinds = [noun.kind for noun in clause.subject.nouns()]
        if clause.verb.involuntary or any(kind not in ("person", "animal") for kind in kinds):
            return
        limited = clause.negative or clause.question
        modals = [
            modal
            for modal in MODALS.values()
            if modal.tense is clause.tense and (modal.free or not limited)
        ]
        clause.modal = self.generator.choice(modals) if modals else None

    def location(self, subject: Phrase) -> PrepositionalPhrase:
        """Where it happens; the German preposition takes the dative."""
        nouns = subject.nouns()
        wild = bool(nouns) and nouns[0].kind == "animal"
        preposition, names = self.generator.choice(ANIMAL_LOCATIONS if wild else LOCATIONS)
        determiners = [THE, THE, THE, A, self.generator.choice(POSSESSIVES)]
        phrase = self.noun_phrase(NOUNS[self.generator.choice(names)], determiners, described=0.15)
        phrase.plural = False
        return PrepositionalPhrase(preposition, Case.DATIVE, phrase)

    def time(self, clause: Clause) -> Adverbial:
        """A time expression that suits the tense; habits are not negated."""
        times = TIMES[clause.tense]
        if not clause.modal and not clause.negative and not clause.question:
            times = times + WIDER_TIMES.get(clause.tense, [])
        return self.generator.choice(times)

    def frequency(self, clause: Clause) -> Rendering | None:
        """How often; "never" does not go with a quantified object such as "three books"."""
        counted = isinstance(clause.direct, NounPhrase) and clause.direct.determiner in QUANTIFIERS
        frequencies = FREQUENCIES[1:] if counted else FREQUENCIES
        return None if clause.tense is Tense.FUTURE else self.generator.choice(frequencies)
