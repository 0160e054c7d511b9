"""An English-German parallel corpus written by a bilingual grammar, with alignments and heads.

The grammar draws abstract sentences and realises each in both languages. A part of them are the
riddles of the notes: in "The animal didn't cross the street because it was too tired" only the
adjective tells what "it" is, and German has to say es, sie or er. The noun and the adjective of a
riddle in the test never meet in a riddle of the training set.
"""

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from regard.corpora.clause import (
    Adjective,
    Asking,
    Both,
    Case,
    Clause,
    Determiner,
    Name,
    Noun,
    NounPhrase,
    Personal,
    Phrase,
    Predicate,
    Prepositional,
    Referring,
    Relative,
    Sentence,
    Tense,
    Verb,
)
from regard.corpora.lexicon import (
    A,
    ADJECTIVES,
    ADJECTIVES_OF,
    ADVERBIALS,
    ALL,
    BARE,
    BE,
    DEGREES,
    EVERY,
    FRAMES,
    FREQUENCIES,
    HOW_MANY,
    KINDS,
    MANY,
    MEN,
    MODALS,
    NEUTRAL,
    NO,
    NOUNS,
    NUMBERS,
    PLACES,
    POSSESSIVES,
    PRONOUNS,
    SOME,
    THAT_VERBS,
    THE,
    THIS,
    VERBS,
    WHAT,
    WHETHER_VERBS,
    WHICH,
    WHO,
    WOMEN,
    Frame,
    nouns_of,
)


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation, with what a model might be asked about them."""

    source: str
    target: str
    alignment: tuple[tuple[int, int], ...]
    """Pairs of a source word and a target word, counted from 0 after splitting at spaces."""
    heads: tuple[int, ...]
    """For each source word the index of its head, -1 for the root."""
    pronoun: int | None
    """The target word that is the pronoun to be resolved, if the sentence is a riddle."""


@dataclass(frozen=True)
class Corpus:
    """Three lists without a sentence in common."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def realise(sentence: Sentence) -> Pair:
    """Realise a sentence in both languages and read off alignment, heads and pronoun."""
    source, target = sentence.english(), sentence.german()
    end = "?" if sentence.main.question else "."
    places = {id(word): index for index, word in enumerate(source)}
    sources: dict[object, list[int]] = {}
    for index, word in enumerate(source):
        for node in word.nodes:
            sources.setdefault(node, []).append(index)
    alignment = {
        (match, index)
        for index, word in enumerate(target)
        for node in word.nodes
        for match in sources.get(node, ())
    }
    pronouns = [
        index
        for index, word in enumerate(target)
        if word.nodes and isinstance(word.nodes[0][0], Referring)
    ]
    return Pair(
        source=capital(" ".join(word.text for word in source)) + end,
        target=capital(" ".join(word.text for word in target)) + end,
        alignment=tuple(sorted(alignment)),
        heads=tuple(-1 if word.head is None else places[id(word.head)] for word in source),
        pronoun=pronouns[0] if pronouns else None,
    )


def capital(text: str) -> str:
    """Only the first letter changes; German nouns keep theirs."""
    return text[0].upper() + text[1:]


STATES = [ADJECTIVES[name] for name in "tired sick hungry thirsty happy sad angry nervous".split()]
EASY_PARTICLES = ("", "for", "at", "to")
SINGULAR_ONLY = (A, EVERY)


@cache
def subject_verbs(noun: Noun) -> list[Verb]:
    """The verbs that the noun can be the subject of."""
    return [verb for verb in VERBS.values() if noun in nouns_of(verb.subjects)]


@cache
def object_verbs(noun: Noun) -> list[Verb]:
    """The verbs whose last object the noun can be."""
    return [
        verb
        for verb in VERBS.values()
        if len(verb.arguments) == 1 and noun in nouns_of(verb.arguments[0].kinds)
    ]


@cache
def choices(kinds: tuple[str, ...]) -> list[Noun]:
    """The nouns of some kinds, looked up once."""
    return nouns_of(kinds)


class Writer:
    """Draws sentences of every construction but the riddles from one stream of chance."""

    def __init__(self, chance: random.Random) -> None:
        """Everything random comes from `chance`."""
        self.chance = chance
        self.verbs = list(VERBS.values())
        self.constructions: list[tuple[int, Callable[[], Sentence]]] = [
            (34, self.statement),
            (8, self.question),
            (9, self.word_question),
            (9, self.description),
            (8, self.subject_relative),
            (8, self.object_relative),
            (9, self.reason),
            (8, self.temporal),
            (7, self.report),
            (5, self.coordination),
        ]
        self.weights = [weight for weight, _ in self.constructions]

    def sentence(self) -> Sentence:
        """A sentence of a construction drawn by its weight."""
        [(_, construction)] = self.chance.choices(self.constructions, self.weights)
        return construction()

    def likely(self, probability: float) -> bool:
        """True with the given probability."""
        return self.chance.random() < probability

    def noun_phrase(self, noun: Noun, determiners: Sequence[Determiner]) -> NounPhrase:
        """A noun with a determiner, in a number that both allow, and perhaps an adjective."""
        determiner = self.chance.choice(determiners)
        if noun.mass and (determiner in SINGULAR_ONLY or not determiner.english):
            determiner = BARE if determiner is not EVERY else THE
        plural = not noun.mass and (not determiner.english or self.likely(0.2))
        plural = plural and determiner not in SINGULAR_ONLY
        adjective = self.chance.choice(ADJECTIVES_OF[noun.kind]) if self.likely(0.3) else None
        return NounPhrase(noun, determiner, plural, adjective)

    def subject(self, kinds: tuple[str, ...], negative: bool = False) -> Phrase:
        """A subject; an indefinite one is never denied, so that nicht has one place only."""
        if "person" in kinds and self.likely(0.4):
            return self.person()
        possessive = self.chance.choice(POSSESSIVES)
        determiners = [THE, THE, THE, THE, possessive, possessive, THIS]
        if not negative:
            number = self.chance.choice(NUMBERS)
            determiners += [A, A, number, self.chance.choice([NO, EVERY, MANY, SOME, ALL])]
        return self.noun_phrase(self.chance.choice(choices(kinds)), determiners)

    def person(self) -> Phrase:
        """A pronoun, a name or two names."""
        if self.likely(0.65):
            names = ["I", "you", "he", "she", "we", "they"]
            return Personal(PRONOUNS[self.chance.choice(names)])
        first, second = self.chance.sample(MEN + WOMEN, 2)
        return Both(Name(first), Name(second)) if self.likely(0.25) else Name(first)

    def object(self, kinds: tuple[str, ...], clause: Clause, bare: bool = True) -> Phrase:
        """An object that differs from the subject."""
        if "person" in kinds and clause.verb.particle in EASY_PARTICLES and self.likely(0.3):
            return self.other_person(clause.subject)
        possessive = self.chance.choice(POSSESSIVES)
        determiners = [THE, THE, THE, THE, A, A, A, possessive, THIS]
        if bare:
            determiners.append(BARE)
        if not clause.negative:
            determiners += [self.chance.choice(NUMBERS), self.chance.choice([MANY, SOME])]
        noun = self.chance.choice(choices(kinds))
        while isinstance(clause.subject, NounPhrase) and clause.subject.noun is noun:
            noun = self.chance.choice(choices(kinds))
        return self.noun_phrase(noun, determiners)

    def other_person(self, subject: Phrase) -> Phrase:
        """A pronoun or a name that is not the subject itself."""
        names = [
            name
            for name in ("I", "you", "he", "she", "we", "they")
            if PRONOUNS[name].person == 3 or PRONOUNS[name].person != subject.person
        ]
        if self.likely(0.7):
            return Personal(PRONOUNS[self.chance.choice(names)])
        taken = [part.name for part in parts(subject) if isinstance(part, Name)]
        return Name(self.chance.choice([name for name in MEN + WOMEN if name not in taken]))

    def clause(
        self,
        tenses: Sequence[Tense] = (Tense.PAST, Tense.PAST, Tense.PRESENT, Tense.PERFECT, Tense.FUTURE),
        denial: float = 0.22,
        lively: bool = False,
    ) -> Clause:
        """A clause with verb, subject and objects; `lively` leaves out verbs of state."""
        verb = self.chance.choice(self.verbs)
        while lively and "s" in verb.flags:
            verb = self.chance.choice(self.verbs)
        negative = self.likely(denial)
        subject = self.subject(verb.subjects, negative)
        clause = Clause(subject, verb, self.chance.choice(tenses), negative=negative)
        self.settle_tense(clause)
        self.add_objects(clause)
        return clause

    def settle_tense(self, clause: Clause) -> None:
        """Keep to tenses that are natural in both languages and clear in writing.

        States have no perfect, du has no simple past, and "they read" is always past.
        """
        subject, verb = clause.subject, clause.verb
        second = subject.person == 2
        if "s" in verb.flags and clause.tense in (Tense.PERFECT, Tense.FUTURE):
            clause.tense = Tense.PRESENT
        if second and clause.tense is Tense.PAST:
            clause.tense = Tense.PRESENT if "s" in verb.flags else Tense.PERFECT
        unclear = verb.base == verb.past and (subject.plural or subject.person != 3)
        if unclear and clause.tense is Tense.PRESENT:
            clause.tense = Tense.FUTURE if second else Tense.PAST

    def add_objects(self, clause: Clause, skip: bool = False) -> None:
        """Fill the places that the verb opens; `skip` leaves the last one for a moved phrase."""
        arguments = clause.verb.arguments[:-1] if skip else clause.verb.arguments
        for argument in arguments:
            if argument.german:
                phrase = self.object(argument.kinds, clause, bare=False)
                clause.complement = Prepositional(
                    argument.english, argument.german, argument.case, phrase
                )
            elif argument.case is Case.DATIVE:
                clause.indirect = self.object(argument.kinds, clause, bare=False)
            else:
                clause.direct = self.object(argument.kinds, clause)

    def place(self) -> Prepositional:
        """Where it happens; German answers with the dative."""
        english, german, names = self.chance.choice(PLACES)
        noun = NOUNS[self.chance.choice(names)]
        determiner = self.chance.choice([THE, THE, THE, A, self.chance.choice(POSSESSIVES)])
        adjective = self.chance.choice(ADJECTIVES_OF[noun.kind]) if self.likely(0.15) else None
        phrase = NounPhrase(noun, determiner, False, adjective)
        return Prepositional(english, german, Case.DATIVE, phrase)

    def add_circumstances(self, clause: Clause) -> Clause:
        """Perhaps a modal verb, a place, a time or a frequency."""
        lively = "s" not in clause.verb.flags
        if lively and self.likely(0.3):
            modals = [modal for modal in MODALS if modal.free or not clause.negative]
            clause.modal = self.chance.choice(modals)
            clause.tense = Tense.PAST if clause.modal.past else Tense.PRESENT
        if "p" in clause.verb.flags and self.likely(0.4):
            clause.place = self.place()
        if lively and self.likely(0.35):
            clause.time = self.chance.choice(ADVERBIALS[clause.tense.value])
            clause.time_first = not clause.question and self.likely(0.35)
        elif lively and not clause.modal and not clause.negative and self.likely(0.2):
            if clause.tense is not Tense.FUTURE:
                clause.frequency = self.chance.choice(FREQUENCIES)
        return clause

    def statement(self) -> Sentence:
        """A main clause."""
        return Sentence(self.add_circumstances(self.clause()))

    def question(self) -> Sentence:
        """A question for yes or no."""
        clause = self.clause(denial=0.0)
        clause.question = True
        self.add_circumstances(clause)
        if clause.modal and not clause.modal.free:
            clause.modal = None
        return Sentence(clause)

    def word_question(self) -> Sentence:
        """A question with who, what, which, how many, where, when or why."""
        clause = self.clause(lively=True, denial=0.15)
        clause.question = True
        kind = self.chance.choice(["who", "object", "object", "adverb"])
        direct = clause.direct
        if kind == "who" and "person" in clause.verb.subjects:
            clause.subject = clause.front = Personal(WHO)
            clause.tense = Tense.PERFECT if clause.tense is Tense.PERFECT else Tense.PAST
        elif kind == "object" and isinstance(direct, NounPhrase) and direct.noun.kind != "person":
            clause.negative = False
            which = NounPhrase(direct.noun, WHICH, direct.plural, direct.adjective)
            many = NounPhrase(direct.noun, HOW_MANY, True, direct.adjective)
            options = [Personal(WHAT), which] if direct.noun.mass else [Personal(WHAT), which, many]
            clause.direct = clause.front = self.chance.choice(options)
        else:
            adverbs = [("when", "wann"), ("why", "warum")]
            if "p" in clause.verb.flags:
                adverbs.append(("where", "wo"))
            clause.front = Asking(*self.chance.choice(adverbs))
            clause.negative = clause.negative and clause.front.word == "why"
        return Sentence(clause)

    def predicate(self, kind: str, negative: bool = False) -> Predicate:
        """An adjective that suits the kind, with a degree if it has any."""
        adjective = self.chance.choice(ADJECTIVES_OF[kind])
        degrees = [None, None, *DEGREES] if not negative else [None]
        return Predicate(adjective, None if adjective.absolute else self.chance.choice(degrees))

    def description(self) -> Sentence:
        """Somebody or something is somehow."""
        kind = self.chance.choice([*KINDS, "person", "person", "animal"])
        negative = self.likely(0.2)
        subject = self.subject((kind,), negative)
        tense = self.chance.choice([Tense.PRESENT, Tense.PAST])
        predicate = self.predicate(kind, negative)
        question = not negative and self.likely(0.2)
        return Sentence(
            Clause(subject, BE, tense, negative=negative, predicate=predicate, question=question)
        )

    def relative(self, phrase: NounPhrase) -> Clause:
        """A relative clause in which the noun is the subject or an object."""
        tenses = (Tense.PAST, Tense.PAST, Tense.PRESENT, Tense.PERFECT)
        pronoun = Relative(phrase)
        verbs = object_verbs(phrase.noun)
        if verbs and self.likely(0.5):
            verb = self.chance.choice(verbs)
            clause = Clause(self.subject(verb.subjects), verb, self.chance.choice(tenses))
            argument = verb.arguments[0]
            if argument.german:
                clause.complement = Prepositional(
                    argument.english, argument.german, argument.case, pronoun
                )
            elif argument.case is Case.DATIVE:
                clause.indirect = pronoun
            else:
                clause.direct = pronoun
        else:
            verb = self.chance.choice(subject_verbs(phrase.noun))
            clause = Clause(pronoun, verb, self.chance.choice(tenses))
            self.add_objects(clause)
        clause.front = pronoun
        self.settle_tense(clause)
        if "p" in verb.flags and self.likely(0.3):
            clause.place = self.place()
        return clause

    def subject_relative(self) -> Sentence:
        """The subject has a relative clause."""
        noun = self.chance.choice(choices(("person", "person", "animal", "vehicle")))
        phrase = self.noun_phrase(noun, [THE, THE, THE, A, self.chance.choice(POSSESSIVES)])
        phrase.relative = self.relative(phrase)
        if self.likely(0.4):
            return Sentence(Clause(phrase, BE, predicate=self.predicate(noun.kind)))
        verb = self.chance.choice(subject_verbs(noun))
        clause = Clause(phrase, verb, self.chance.choice([Tense.PRESENT, Tense.PAST]))
        self.settle_tense(clause)
        self.add_objects(clause)
        return Sentence(clause)

    def object_relative(self) -> Sentence:
        """An object has a relative clause, which German sets behind the verbs."""
        clause = self.clause(denial=0.1)
        target = clause.direct or (clause.complement.phrase if clause.complement else None)
        while not isinstance(target, NounPhrase) or not subject_verbs(target.noun):
            clause = self.clause(denial=0.1)
            target = clause.direct or (clause.complement.phrase if clause.complement else None)
        target.relative = self.relative(target)
        return Sentence(clause)

    def reason(self) -> Sentence:
        """Somebody does something because, since or although they feel somehow."""
        clause = self.clause(lively=True)
        pronoun = referring_pronoun(clause.subject)
        while not pronoun:
            clause = self.clause(lively=True)
            pronoun = referring_pronoun(clause.subject)
        present = clause.tense in (Tense.PRESENT, Tense.FUTURE)
        tense = Tense.PRESENT if present else Tense.PAST
        adjective = self.chance.choice(STATES)
        degree = self.chance.choice([None, *DEGREES])
        if degree and degree[0] == "too":
            degree = degree if clause.negative else None
        other = Clause(pronoun, BE, tense, predicate=Predicate(adjective, degree))
        first = self.likely(0.3)
        if first:
            clause.subject, other.subject = other.subject, clause.subject
        links = [("because", "weil"), ("since", "da")]
        if not degree or degree[0] != "too":
            links.append(("although", "obwohl"))
        return Sentence(clause, self.chance.choice(links), other, other_first=first)

    def temporal(self) -> Sentence:
        """Two things happen, joined by when, while, before or if."""
        english, german = self.chance.choice(
            [("when", "wenn"), ("when", "als"), ("while", "während"), ("before", "bevor"), ("if", "falls")]
        )
        tense = {"wenn": Tense.PRESENT, "falls": Tense.FUTURE}.get(german, Tense.PAST)
        main = self.clause([tense], denial=0.1, lively=True)
        tense = Tense.PRESENT if german == "falls" else tense
        other = self.clause([tense], denial=0.0, lively=True)
        return Sentence(main, (english, german), other, other_first=self.likely(0.4))

    def report(self) -> Sentence:
        """Somebody knows, says or asks something."""
        tense = self.chance.choice([Tense.PRESENT, Tense.PAST])
        if self.likely(0.65):
            verb, link = self.chance.choice(THAT_VERBS), ("that", "dass")
            negative = False
        else:
            verb, link = self.chance.choice(WHETHER_VERBS), ("whether", "ob")
            negative = verb.base == "know"
        clause = Clause(self.subject(("person",), negative), verb, tense, negative=negative)
        self.settle_tense(clause)
        return Sentence(clause, link, self.add_plain(self.clause(denial=0.15)))

    def add_plain(self, clause: Clause) -> Clause:
        """Circumstances for a subordinate clause, where the time cannot come first."""
        self.add_circumstances(clause)
        clause.time_first = False
        return clause

    def coordination(self) -> Sentence:
        """Two main clauses joined by and or but."""
        tense = self.chance.choice([Tense.PRESENT, Tense.PAST])
        link = self.chance.choice([("and", "und"), ("but", "aber")])
        first = self.clause([tense], denial=0.0, lively=True)
        second = self.clause([tense], denial=0.6 if link[0] == "but" else 0.0, lively=True)
        return Sentence(first, link, second, coordinated=True)


def parts(phrase: Phrase) -> list[Phrase]:
    """The members of a phrase joined by and, or the phrase alone."""
    return [phrase.first, phrase.second] if isinstance(phrase, Both) else [phrase]


def referring_pronoun(phrase: Phrase) -> Personal | None:
    """The pronoun that takes up a person, or None where English or German would be unsure."""
    if isinstance(phrase, Personal):
        return Personal(phrase.pronoun)
    if isinstance(phrase, Both):
        return Personal(PRONOUNS["they"])
    if isinstance(phrase, Name):
        return Personal(PRONOUNS["he" if phrase.name in MEN else "she"])
    if not isinstance(phrase, NounPhrase) or phrase.noun.kind != "person":
        return None
    if phrase.determiner in (NO, EVERY) or phrase.noun.gender == "n" and not phrase.plural:
        return None
    singular = "he" if phrase.noun.gender == "m" else "she"
    return Personal(PRONOUNS["they" if phrase.plural else singular])


@dataclass(frozen=True)
class Riddle:
    """A frame with the noun that "it" refers to, and the adjective that gives it away."""

    frame: Frame
    noun: Noun
    adjective: Adjective
    is_subject: bool
    against: bool


def riddles() -> list[Riddle]:
    """Every frame with every antecedent and adjective it allows."""
    found = []
    for frame in FRAMES:
        for names, adjectives, is_subject, against in (
            (frame.subjects, frame.subject_against, True, True),
            (frame.objects, frame.object_against, False, True),
            (frame.subjects, frame.subject_for, True, False),
            (frame.objects, frame.object_for, False, False),
        ):
            found += [
                Riddle(frame, NOUNS[name], ADJECTIVES[adjective], is_subject, against)
                for name in names.split()
                for adjective in adjectives.split()
            ]
    return found


STREET_COMBINATIONS = (("animal", "tired"), ("street", "wide"))
RIDDLES = riddles()
Combination = tuple[str, str]


def held_out_combinations() -> dict[Combination, str]:
    """Give every pair of antecedent and adjective to train, valid or test, once and for all.

    A noun or an adjective gives away at most a third of its combinations, so that training sees
    each of them by itself. The two of the notes belong to the test.
    """
    combinations = sorted({(riddle.noun.english, riddle.adjective.english) for riddle in RIDDLES})
    free: dict[str, int] = {}
    for noun, adjective in combinations:
        for word in (noun, adjective + " "):
            free[word] = free.get(word, 0) + 1
    free = {word: count // 3 for word, count in free.items()}
    random.Random("held out").shuffle(combinations)
    combinations = [*STREET_COMBINATIONS, *combinations]
    parts_of: dict[Combination, str] = {}
    for index, (noun, adjective) in enumerate(combinations):
        if (noun, adjective) in parts_of:
            continue
        spare = min(free[noun], free[adjective + " "]) > 0
        part = ("test", "valid")[index % 2] if spare else "train"
        if index < len(STREET_COMBINATIONS):
            part = "test"
        if part != "train":
            free[noun] -= 1
            free[adjective + " "] -= 1
        parts_of[noun, adjective] = part
    return parts_of


PART_OF = held_out_combinations()


@cache
def riddles_of(part: str, gender: str, is_subject: bool) -> list[Riddle]:
    """The riddles of one part of the corpus whose answer has a gender and a place."""
    return [
        riddle
        for riddle in RIDDLES
        if PART_OF[riddle.noun.english, riddle.adjective.english] == part
        and riddle.noun.gender == gender
        and riddle.is_subject == is_subject
        and partners(riddle)
    ]


@cache
def partners(riddle: Riddle) -> list[Noun]:
    """The nouns for the other place: of another gender, so that German has to decide."""
    names = riddle.frame.objects if riddle.is_subject else riddle.frame.subjects
    nouns = [NOUNS[name] for name in names.split()]
    return [noun for noun in nouns if noun.gender != riddle.noun.gender]


class Riddler:
    """Draws riddles of one part of the corpus, with genders and places in balance."""

    def __init__(self, chance: random.Random, part: str) -> None:
        """Everything random comes from `chance`."""
        self.chance = chance
        self.part = part

    def sentence(self) -> Sentence:
        """Choose the answer first, then a sentence around it."""
        gender, is_subject = self.chance.choice("mfn"), self.chance.random() < 0.5
        riddle = self.chance.choice(riddles_of(self.part, gender, is_subject))
        antecedent = self.phrase(riddle.noun)
        partner = self.phrase(self.chance.choice(partners(riddle)))
        subject, other = (antecedent, partner) if is_subject else (partner, antecedent)
        surprise = self.chance.random() < 0.3
        main = riddle_clause(riddle.frame, subject, other, riddle.against != surprise)
        present = self.settle_tense(main, riddle)
        degrees = [None, DEGREES[1], DEGREES[2]]
        if surprise:
            degrees.append(DEGREES[3])
        elif riddle.against:
            degrees += [DEGREES[0]] * 3
        degree = None if riddle.adjective.absolute else self.chance.choice(degrees)
        because = self.chance.choice([("because", "weil"), ("since", "da")])
        link = ("although", "obwohl") if surprise else because
        return riddle_sentence(main, link, antecedent, Predicate(riddle.adjective, degree), present)

    def phrase(self, noun: Noun) -> NounPhrase:
        """One of the two nouns; its own adjective must not give the answer away."""
        determiners = [THE, THE, THE, THE, THE, THIS]
        if noun.kind in ("animal", "vehicle", "furniture", "container", "clothing", "object"):
            determiners.append(self.chance.choice(POSSESSIVES))
        names = NEUTRAL.get(noun.kind, "").split()
        described = names and self.chance.random() < 0.25
        adjective = ADJECTIVES[self.chance.choice(names)] if described else None
        return NounPhrase(noun, self.chance.choice(determiners), adjective=adjective)

    def settle_tense(self, main: Clause, riddle: Riddle) -> bool:
        """Choose tense, modal verb and time; say whether the second clause is in the present."""
        state = "s" in main.verb.flags
        tenses = [Tense.PAST, Tense.PAST, Tense.PAST, Tense.PRESENT]
        main.tense = self.chance.choice(tenses if state else [*tenses, Tense.PERFECT, Tense.FUTURE])
        if not state and riddle.against and main.tense in (Tense.PAST, Tense.PRESENT):
            if self.chance.random() < 0.3:
                main.modal = MODALS[1] if main.tense is Tense.PAST else MODALS[0]
        if not state and self.chance.random() < 0.2:
            main.time = self.chance.choice(ADVERBIALS[main.tense.value])
            main.time_first = self.chance.random() < 0.4
        return main.tense in (Tense.PRESENT, Tense.FUTURE)


def riddle_clause(frame: Frame, subject: NounPhrase, other: NounPhrase, negative: bool) -> Clause:
    """The main clause of a riddle."""
    verb = VERBS[frame.verb]
    clause = Clause(subject, verb, negative=negative)
    argument = verb.arguments[-1]
    if argument.german:
        clause.complement = Prepositional(argument.english, argument.german, argument.case, other)
    elif argument.case is Case.DATIVE:
        clause.indirect = other
    else:
        clause.direct = other
    return clause


def riddle_sentence(
    main: Clause, link: tuple[str, str], antecedent: NounPhrase, predicate: Predicate, present: bool
) -> Sentence:
    """Add the clause in which the pronoun stands."""
    tense = Tense.PRESENT if present else Tense.PAST
    return Sentence(main, link, Clause(Referring(antecedent), BE, tense, predicate=predicate))


def street(adjective: str, is_subject: bool) -> Pair:
    """One of the two sentences of the notes."""
    animal, way = NounPhrase(NOUNS["animal"], THE), NounPhrase(NOUNS["street"], THE)
    main = riddle_clause(FRAMES[0], animal, way, negative=True)
    main.tense = Tense.PAST
    predicate = Predicate(ADJECTIVES[adjective], DEGREES[0])
    antecedent = animal if is_subject else way
    return realise(riddle_sentence(main, ("because", "weil"), antecedent, predicate, present=False))


STREET: tuple[Pair, Pair] = (street("tired", is_subject=True), street("wide", is_subject=False))

RIDDLE_SHARE = 0.28
LARGEST = 2_000_000
PATIENCE = 2_000


def generate(pairs: int, seed: int = 1, held_out: int = 1000) -> Corpus:
    """Write a corpus: `pairs` for training, and `held_out` each for validation and test.

    Test and validation are drawn first, so they stay the same when the training set grows.
    """
    if pairs + 2 * held_out > LARGEST:
        raise ValueError(
            f"The grammar is trusted for {LARGEST} distinct pairs, not for {pairs + 2 * held_out}."
        )
    seen = {text for pair in STREET for text in (pair.source, pair.target)}
    test = draw(held_out, "test", seed, seen)
    valid = draw(held_out, "valid", seed, seen)
    return Corpus(train=draw(pairs, "train", seed, seen), valid=valid, test=test)


def draw(count: int, part: str, seed: int, seen: set[str]) -> list[Pair]:
    """Draw pairs whose source and target are both new; `seen` grows."""
    chance = random.Random(f"{seed} {part}")
    writer, riddler = Writer(chance), Riddler(chance, part)
    drawn: list[Pair] = []
    failures = 0
    while len(drawn) < count:
        maker = riddler if chance.random() < RIDDLE_SHARE else writer
        pair = realise(maker.sentence())
        if pair.source in seen or pair.target in seen:
            failures += 1
            if failures > PATIENCE:
                raise ValueError(f"The grammar has run out of new pairs after {len(drawn)}.")
            continue
        failures = 0
        seen.update((pair.source, pair.target))
        drawn.append(pair)
    return drawn


CONJUNCTIONS = ("weil", "da", "obwohl")
GENDERED = ("er", "sie", "es")


def right_pronoun(pair: Pair, translation: str) -> bool:
    """Whether the subordinate clause of a translation has the right pronoun and no other.

    A translation without any conjunction is judged by what follows its last comma.
    """
    if pair.pronoun is None:
        raise ValueError("This pair has no pronoun to be resolved.")
    words = translation.split(" ")
    starts = [index for index, word in enumerate(words) if word.strip(".,!?").lower() in CONJUNCTIONS]
    commas = [index for index, word in enumerate(words) if word.endswith(",")]
    if not starts and not commas:
        return False
    clause = words[(starts[0] if starts else commas[-1]) + 1 :]
    found = {word.strip(".,!?") for word in clause} & set(GENDERED)
    return found == {pair.target.split(" ")[pair.pronoun]}


def write(corpus: Corpus, folder: Path) -> None:
    """Write four files for each part: .en, .de, .align in Pharaoh format, and .heads."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, pairs in (("train", corpus.train), ("valid", corpus.valid), ("test", corpus.test)):
        columns = {
            "en": [pair.source for pair in pairs],
            "de": [pair.target for pair in pairs],
            "align": [" ".join(f"{a}-{b}" for a, b in pair.alignment) for pair in pairs],
            "heads": [" ".join(map(str, pair.heads)) for pair in pairs],
        }
        for suffix, lines in columns.items():
            replace_file(folder / f"{part}.{suffix}", lines)


def replace_file(path: Path, lines: list[str]) -> None:
    """Write to a temporary name first, so that no reader meets half a file."""
    temporary = path.with_name(path.name + ".temporary")
    temporary.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    os.replace(temporary, path)
