"""An English-German parallel corpus written by a bilingual grammar, with alignments and heads.

The grammar draws abstract sentences and realises each in both languages. A part of them are the
riddles of the notes: in "The animal didn't cross the street because it was too tired" only the
adjective tells what "it" is, and German has to say es, sie or er. The noun and the adjective of a
riddle in the test never meet in a riddle of the training set.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from regard.corpora.clause import (
    Adjective,
    Adverbial,
    Argument,
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
    ADJECTIVES,
    ADJECTIVES_OF,
    ADVERBIALS,
    ALL,
    ANIMAL_PLACES,
    BARE,
    BE,
    CAN,
    COULD,
    DEGREES,
    EVERY,
    FAMILY,
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
    OWNED,
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
    A,
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


HINDRANCES = [ADJECTIVES[name] for name in ("tired", "sick", "sad", "nervous", "angry", "weak")]
MOTIVES = [ADJECTIVES[name] for name in ("happy", "curious", "sad", "nervous", "angry")]
EASY_PARTICLES = ("", "for", "at", "to")
SINGULAR_ONLY = (A, EVERY)
COUNTING = (MANY, SOME, *NUMBERS)
ALL_TENSES = (Tense.PAST, Tense.PAST, Tense.PRESENT, Tense.PERFECT, Tense.FUTURE)
OWNABLE = frozenset(OWNED)
YOUNG = ("child", "boy", "girl", "calf", "lamb", "foal")
NOT_YOUNG = ("old", "rich", "famous")
UNIQUE = ("mother", "father", "boss", "name")
# Kinds that are rarely many at once, and kinds that are never too much of anything.
SINGLE = ("person", "building", "room", "area", "way", "nature")
NEVER_TOO = ("building", "area", "way", "nature", "abstract", "barrier", "part", "transport")


@cache
def subject_verbs(noun: Noun) -> list[Verb]:
    """The verbs that the noun can be the subject of."""
    return [verb for verb in VERBS.values() if noun in nouns_of(verb.subjects)]


@cache
def object_verbs(noun: Noun) -> list[Verb]:
    """The verbs whose only object the noun can be."""
    return [
        verb
        for verb in VERBS.values()
        if len(verb.arguments) == 1 and noun in nouns_of(verb.arguments[0].kinds)
    ]


@cache
def choices(kinds: tuple[str, ...]) -> list[Noun]:
    """The nouns of some kinds, looked up once."""
    return nouns_of(kinds)


def because_words(tense: Tense) -> list[tuple[str, str]]:
    """Conjunctions of reason; after a perfect, "since" would speak of time."""
    words = [("because", "weil"), ("since", "da")]
    return words[:1] if tense is Tense.PERFECT else words


def fill(clause: Clause, argument: Argument, phrase: Phrase) -> None:
    """Put a phrase where the verb wants it."""
    if argument.german:
        english, german = argument.english, argument.german
        clause.complement = Prepositional(english, german, argument.case, phrase)
    elif argument.case is Case.DATIVE:
        clause.indirect = phrase
    else:
        clause.direct = phrase


class Writer:
    """Draws sentences of every construction but the riddles from one stream of chance."""

    def __init__(self, chance: random.Random) -> None:
        """Everything random comes from `chance`."""
        self.chance = chance
        self.verbs = list(VERBS.values())
        self.constructions: list[Callable[[], Sentence]] = [
            self.statement,
            self.question,
            self.word_question,
            self.description,
            self.subject_relative,
            self.object_relative,
            self.reason,
            self.temporal,
            self.report,
            self.coordination,
        ]
        self.weights = [34, 8, 9, 9, 8, 8, 9, 8, 7, 4]

    def sentence(self) -> Sentence:
        """A sentence of a construction drawn by its weight."""
        [construction] = self.chance.choices(self.constructions, self.weights)
        return construction()

    def likely(self, probability: float) -> bool:
        """True with the given probability."""
        return self.chance.random() < probability

    def noun_phrase(
        self, noun: Noun, determiners: Sequence[Determiner], described: float = 0.3
    ) -> NounPhrase:
        """A noun with a determiner, in a number that both allow, and perhaps an adjective."""
        determiner = self.chance.choice(determiners)
        if determiner in POSSESSIVES and noun not in OWNABLE:
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
        return self.noun_phrase(self.chance.choice(choices(kinds)), determiners)

    def person(self) -> Phrase:
        """A pronoun, a name or two people."""
        if self.likely(0.65):
            return Personal(PRONOUNS[self.chance.choice(list(PRONOUNS))])
        if self.likely(0.15):
            first, second = self.chance.sample(choices(("person",)), 2)
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
        noun = self.chance.choice(choices(kinds))
        while noun in [part.noun for part in nouns_in(clause.subject)]:
            noun = self.chance.choice(choices(kinds))
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
        taken = [part.name for part in parts(subject) if isinstance(part, Name)]
        return Name(self.chance.choice([name for name in MEN + WOMEN if name not in taken]))

    def clause(
        self,
        tenses: Sequence[Tense] = ALL_TENSES,
        denial: float = 0.22,
        definite: bool = False,
        lively: bool = False,
    ) -> Clause:
        """A clause with verb, subject and objects; `lively` leaves out verbs of state."""
        verb = self.chance.choice(self.verbs)
        while lively and "s" in verb.flags:
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
        if "s" in verb.flags and clause.tense in (Tense.PERFECT, Tense.FUTURE):
            clause.tense = Tense.PRESENT
        while subject.person == 2 and clause.tense is Tense.PAST:
            subject = clause.subject = self.subject(verb.subjects, definite=True)
        unclear = verb.base == verb.past and (subject.plural or subject.person != 3)
        if unclear and clause.tense is Tense.PRESENT and fixed:
            clause.tense = Tense.PAST
        elif unclear and clause.tense is Tense.PRESENT:
            clause.subject = NounPhrase(self.chance.choice(choices(verb.subjects)), THE)
        for argument in verb.arguments:
            fill(clause, argument, self.object(argument, clause))
        return clause

    def place(self, subject: Phrase) -> Prepositional:
        """Where it happens; German answers with the dative."""
        noun = next((part.noun for part in nouns_in(subject)), None)
        wild = noun is not None and noun.kind == "animal"
        english, german, names = self.chance.choice(ANIMAL_PLACES if wild else PLACES)
        determiners = [THE, THE, THE, A, self.chance.choice(POSSESSIVES)]
        phrase = self.noun_phrase(NOUNS[self.chance.choice(names)], determiners, described=0.15)
        phrase.plural = False
        return Prepositional(english, german, Case.DATIVE, phrase)

    def add_circumstances(self, clause: Clause) -> Clause:
        """Perhaps a modal verb, a place, a time or a frequency."""
        lively = "s" not in clause.verb.flags
        if lively and self.likely(0.4):
            self.add_modal(clause)
        if "p" in clause.verb.flags and self.likely(0.4):
            clause.place = self.place(clause.subject)
        if lively and self.likely(0.35):
            clause.time = self.time(clause)
        elif lively and not clause.modal and not clause.negative and self.likely(0.2):
            clause.frequency = self.frequency(clause)
        return clause

    def frequency(self, clause: Clause) -> tuple[str, str] | None:
        """Often or never; one never does "some" or "three" of anything."""
        counted = isinstance(clause.direct, NounPhrase) and clause.direct.determiner in COUNTING
        frequencies = FREQUENCIES[1:] if counted else FREQUENCIES
        return None if clause.tense is Tense.FUTURE else self.chance.choice(frequencies)

    def add_modal(self, clause: Clause) -> None:
        """A modal verb for somebody who can want and must; the tense stays."""
        kinds = [part.noun.kind for part in nouns_in(clause.subject)]
        if "i" in clause.verb.flags or any(kind not in ("person", "animal") for kind in kinds):
            return
        limited = clause.negative or clause.question
        modals = [
            modal for modal in MODALS if modal.tense is clause.tense and (modal.free or not limited)
        ]
        clause.modal = self.chance.choice(modals) if modals else None

    def time(self, clause: Clause) -> Adverbial:
        """An expression of time that suits the tense; habits are not denied."""
        times = ADVERBIALS[clause.tense.value]
        if not clause.modal and not clause.negative and not clause.question:
            wider = {Tense.PAST: "long past", Tense.PRESENT: "habit", Tense.FUTURE: "far future"}
            times = times + ADVERBIALS.get(wider.get(clause.tense, ""), [])
        return self.chance.choice(times)

    def statement(self) -> Sentence:
        """A main clause; when the time comes first, the German subject follows the verb."""
        clause = self.add_circumstances(self.clause())
        clause.time_first = clause.time is not None and self.likely(0.35)
        return Sentence(clause)

    def question(self) -> Sentence:
        """A question for yes or no."""
        clause = self.clause(denial=0.0, definite=True)
        clause.question = True
        return Sentence(self.add_circumstances(clause))

    def word_question(self) -> Sentence:
        """A question with who, what, which, how many, where, when or why."""
        ask = self.chance.choice([self.ask_who, self.ask_what, self.ask_what, self.ask_adverb])
        clause = ask()
        clause.question = True
        return Sentence(clause)

    def ask_who(self) -> Clause:
        """The subject asks, and so there is no inversion in English."""
        clause = self.clause((Tense.PAST, Tense.PERFECT), denial=0.15, lively=True)
        while "person" not in clause.verb.subjects:
            clause = self.clause((Tense.PAST, Tense.PERFECT), denial=0.15, lively=True)
        clause.subject = clause.front = Personal(WHO)
        return clause

    def ask_what(self) -> Clause:
        """The direct object asks."""
        clause = self.clause(denial=0.0, definite=True, lively=True)
        direct = clause.direct
        while not isinstance(direct, NounPhrase) or direct.noun.kind == "person":
            clause = self.clause(denial=0.0, definite=True, lively=True)
            direct = clause.direct
        which = NounPhrase(direct.noun, WHICH, direct.plural, direct.adjective)
        options: list[Phrase] = [Personal(WHAT), which]
        if not direct.noun.mass:
            options.append(NounPhrase(direct.noun, HOW_MANY, True, direct.adjective))
        clause.direct = clause.front = self.chance.choice(options)
        return clause

    def ask_adverb(self) -> Clause:
        """Where, when or why; English has no perfect with when."""
        clause = self.clause(denial=0.15, definite=True, lively=True)
        adverbs = [("why", "warum")]
        if not clause.negative and clause.tense is not Tense.PERFECT:
            adverbs.append(("when", "wann"))
        if not clause.negative and "p" in clause.verb.flags:
            adverbs.append(("where", "wo"))
        clause.front = Asking(*self.chance.choice(adverbs))
        return clause

    def predicate(self, kind: str, plain: bool = False) -> Predicate:
        """An adjective that suits the kind, with a degree if it has any."""
        adjective = self.chance.choice(ADJECTIVES_OF[kind])
        degrees = [None, None, *(DEGREES[1:] if kind in NEVER_TOO else DEGREES)]
        if plain or adjective.absolute:
            degrees = [None]
        return Predicate(adjective, self.chance.choice(degrees))

    def description(self) -> Sentence:
        """Somebody or something is somehow."""
        kind = self.chance.choice([*KINDS, "person", "person", "animal"])
        negative = self.likely(0.2)
        subject = self.subject((kind,), definite=True)
        if isinstance(subject, NounPhrase):
            subject.adjective = None
        tense = self.chance.choice([Tense.PRESENT, Tense.PAST])
        question = not negative and self.likely(0.2)
        predicate = self.predicate(kind, plain=negative or question)
        return Sentence(
            Clause(subject, BE, tense, negative=negative, predicate=predicate, question=question)
        )

    def relative(self, phrase: NounPhrase, main: Tense) -> Clause:
        """A relative clause in which the noun is the subject or the object."""
        past = main in (Tense.PAST, Tense.PERFECT)
        tenses = [Tense.PAST] if past else [Tense.PAST, Tense.PRESENT, Tense.PERFECT]
        pronoun = Relative(phrase)
        subjects, objects = subject_verbs(phrase.noun), object_verbs(phrase.noun)
        if objects and (self.likely(0.5) or not subjects):
            verb = self.chance.choice(objects)
            subject = self.subject(verb.subjects, definite=True)
            while phrase.noun in [part.noun for part in nouns_in(subject)]:
                subject = self.subject(verb.subjects, definite=True)
            clause = self.finish(Clause(subject, verb), tenses)
            fill(clause, verb.arguments[0], pronoun)
        else:
            verb = self.chance.choice(subjects)
            clause = self.finish(Clause(pronoun, verb), tenses, fixed=True)
        clause.front = pronoun
        if "p" in verb.flags and self.likely(0.3):
            clause.place = self.place(clause.subject)
        return clause

    def subject_relative(self) -> Sentence:
        """The subject has a relative clause."""
        noun = self.chance.choice(choices(("person", "person", "animal", "car", "bus", "train")))
        phrase = self.noun_phrase(noun, [THE, THE, THE, A])
        tenses = [Tense.PRESENT, Tense.PAST]
        if self.likely(0.4) or not subject_verbs(noun):
            phrase.adjective = None
            clause = Clause(
                phrase, BE, self.chance.choice(tenses), predicate=self.predicate(noun.kind)
            )
        else:
            verb = self.chance.choice(subject_verbs(noun))
            clause = self.finish(Clause(phrase, verb), tenses, fixed=True)
        phrase.relative = self.relative(phrase, clause.tense)
        return Sentence(clause)

    def object_relative(self) -> Sentence:
        """An object has a relative clause, which German sets behind the verbs."""
        target: Phrase | None = None
        while not isinstance(target, NounPhrase) or target.determiner is BARE:
            clause = self.clause(denial=0.1)
            target = clause.direct or (clause.complement.phrase if clause.complement else None)
            if isinstance(target, NounPhrase) and not self.relatable(target.noun):
                target = None
        if target.determiner in POSSESSIVES:
            target.determiner = THE
        target.relative = self.relative(target, clause.tense)
        return Sentence(clause)

    def relatable(self, noun: Noun) -> bool:
        """Whether any verb can say something about the noun."""
        return bool(subject_verbs(noun) or object_verbs(noun))

    def reason(self) -> Sentence:
        """Somebody does something because, since or although they feel somehow.

        What hinders people is a reason against, or they do it all the same; the rest is for it.
        """
        clause = self.clause(denial=0.4, lively=True)
        pronoun = referring_pronoun(clause.subject)
        while not pronoun or "i" in clause.verb.flags:
            clause = self.clause(denial=0.4, lively=True)
            pronoun = referring_pronoun(clause.subject)
        because = self.chance.choice(because_words(clause.tense))
        hinders = clause.negative or self.likely(0.5)
        link = because if hinders == clause.negative else ("although", "obwohl")
        degrees = [None, *(DEGREES if clause.negative else DEGREES[1:])]
        adjective = self.chance.choice(HINDRANCES if hinders else MOTIVES)
        predicate = Predicate(adjective, self.chance.choice(degrees))
        present = clause.tense in (Tense.PRESENT, Tense.FUTURE)
        tense = Tense.PRESENT if present else Tense.PAST
        other = Clause(pronoun, BE, tense, predicate=predicate)
        first = clause.subject.definite and tense is clause.tense and self.likely(0.4)
        if first:
            clause.subject, other.subject = other.subject, clause.subject
        return Sentence(clause, link, other, other_first=first)

    def temporal(self) -> Sentence:
        """Two things happen; "when" is als in the past and wenn in the present."""
        english, german, tense, other_tense = self.chance.choice(
            [
                ("when", "wenn", Tense.PRESENT, Tense.PRESENT),
                ("when", "als", Tense.PAST, Tense.PAST),
                ("while", "während", Tense.PAST, Tense.PAST),
                ("before", "bevor", Tense.PAST, Tense.PAST),
                ("if", "falls", Tense.FUTURE, Tense.PRESENT),
            ]
        )
        main = self.clause([tense], denial=0.1, definite=True, lively=True)
        other = self.clause([other_tense], denial=0.0, definite=True, lively=True)
        return Sentence(main, (english, german), other, other_first=self.likely(0.4))

    def report(self) -> Sentence:
        """Somebody knows, says or asks something; the tenses agree as English wants it."""
        tense = self.chance.choice([Tense.PRESENT, Tense.PAST])
        if self.likely(0.65):
            verb, link = self.chance.choice(THAT_VERBS), ("that", "dass")
        else:
            verb, link = self.chance.choice(WHETHER_VERBS), ("whether", "ob")
        negative = link[0] == "whether" and verb.base == "know"
        subject = self.subject(("person",), definite=True)
        main = self.finish(Clause(subject, verb, negative=negative), [tense])
        tenses = ALL_TENSES if main.tense is Tense.PRESENT else [Tense.PAST]
        denial = 0.15 if link[0] == "that" else 0.0
        other = self.clause(tenses, denial, definite=True)
        return Sentence(main, link, self.add_circumstances(other))

    def coordination(self) -> Sentence:
        """Two main clauses joined by and or but."""
        tense = self.chance.choice([Tense.PRESENT, Tense.PAST])
        link = self.chance.choice([("and", "und"), ("but", "aber")])
        denial = 0.6 if link[0] == "but" else 0.0
        first = self.clause([tense], denial=0.0, definite=True, lively=True)
        second = self.clause([tense], denial=denial, definite=True, lively=True)
        return Sentence(first, link, second, coordinated=True)


def parts(phrase: Phrase) -> list[Phrase]:
    """The members of a phrase joined by and, or the phrase alone."""
    return [phrase.first, phrase.second] if isinstance(phrase, Both) else [phrase]


def nouns_in(phrase: Phrase) -> list[NounPhrase]:
    """The noun phrases among the parts; a relative pronoun stands for its antecedent."""
    found = [part.antecedent if isinstance(part, Relative) else part for part in parts(phrase)]
    return [part for part in found if isinstance(part, NounPhrase)]


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
    if phrase.determiner in (NO, EVERY) or (phrase.noun.gender == "n" and not phrase.plural):
        return None
    singular = "he" if phrase.noun.gender == "m" else "she"
    return Personal(PRONOUNS["they" if phrase.plural else singular])


@dataclass(frozen=True, eq=False)
class Riddle:
    """A frame with the noun that "it" refers to, and the adjective that gives it away."""

    frame: Frame
    noun: Noun
    adjective: Adjective
    is_subject: bool
    against: bool


def riddles() -> list[Riddle]:
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


class Part(Enum):
    """The parts of a corpus."""

    TRAIN = "train"
    VALID = "valid"
    TEST = "test"


RIDDLES = riddles()
STREET_COMBINATIONS = [("animal", "tired"), ("street", "wide")]


def held_out_combinations() -> dict[tuple[str, str], Part]:
    """Give every pair of antecedent and adjective to train, valid or test, once and for all.

    A noun or an adjective gives away at most a third of its combinations, so that training sees
    each of them by itself. The two of the notes belong to the test.
    """
    combinations = sorted({(riddle.noun.english, riddle.adjective.english) for riddle in RIDDLES})
    nouns = Counter(noun for noun, _ in combinations)
    adjectives = Counter(adjective for _, adjective in combinations)
    random.Random("held out").shuffle(combinations)
    parts_of = dict.fromkeys(combinations, Part.TRAIN)
    given: Counter[str] = Counter()
    for index, (noun, adjective) in enumerate([*STREET_COMBINATIONS, *combinations]):
        # A leading space keeps "light" the adjective apart from any noun of that name.
        spare = (
            given[noun] < nouns[noun] // 3 and given[" " + adjective] < adjectives[adjective] // 3
        )
        if spare and parts_of[noun, adjective] is Part.TRAIN:
            valid = index % 2 and index >= len(STREET_COMBINATIONS)
            parts_of[noun, adjective] = Part.VALID if valid else Part.TEST
            given.update([noun, " " + adjective])
    return parts_of


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
        main = riddle_clause(riddle.frame, subject, other, riddle.against != surprise)
        self.settle_tense(main, riddle)
        because = self.chance.choice(because_words(main.tense))
        link = ("although", "obwohl") if surprise else because
        predicate = Predicate(riddle.adjective, self.degree(riddle, surprise))
        return riddle_sentence(main, link, antecedent, predicate)

    def degree(self, riddle: Riddle, surprise: bool) -> tuple[str, str] | None:
        """Too much hinders; what happens all the same can only be very much so."""
        too, so, very, quite = DEGREES
        degrees = [None, so, very]
        if surprise:
            degrees.append(quite)
        elif riddle.against:
            degrees += [too, too, too]
        return None if riddle.adjective.absolute else self.chance.choice(degrees)

    def phrase(self, noun: Noun) -> NounPhrase:
        """One of the two nouns; its own adjective must not give the answer away."""
        determiners = [THE, THE, THE, THE, THE, THIS]
        if noun in OWNABLE:
            determiners.append(self.chance.choice(POSSESSIVES))
        names = NEUTRAL.get(noun.kind, "").split()
        described = names and self.chance.random() < 0.25
        adjective = ADJECTIVES[self.chance.choice(names)] if described else None
        return NounPhrase(noun, self.chance.choice(determiners), adjective=adjective)

    def settle_tense(self, main: Clause, riddle: Riddle) -> None:
        """Choose tense, modal verb and time; a state allows for little of this."""
        tenses = [Tense.PAST, Tense.PAST, Tense.PAST, Tense.PRESENT]
        if "s" in main.verb.flags:
            main.tense = self.chance.choice(tenses)
            return
        main.tense = self.chance.choice([*tenses, Tense.PERFECT, Tense.FUTURE])
        if riddle.against and self.chance.random() < 0.3:
            main.modal = {Tense.PAST: COULD, Tense.PRESENT: CAN}.get(main.tense)
        if riddle.frame.lively and self.chance.random() < 0.2:
            main.time = self.chance.choice(ADVERBIALS[main.tense.value])
            main.time_first = self.chance.random() < 0.4


def riddle_clause(frame: Frame, subject: NounPhrase, other: NounPhrase, negative: bool) -> Clause:
    """The main clause of a riddle."""
    verb = VERBS[frame.verb]
    clause = Clause(subject, verb, negative=negative)
    fill(clause, verb.arguments[-1], other)
    return clause


def riddle_sentence(
    main: Clause, link: tuple[str, str], antecedent: NounPhrase, predicate: Predicate
) -> Sentence:
    """Add the clause in which the pronoun stands."""
    tense = Tense.PRESENT if main.tense in (Tense.PRESENT, Tense.FUTURE) else Tense.PAST
    return Sentence(main, link, Clause(Referring(antecedent), BE, tense, predicate=predicate))


def street(adjective: str, is_subject: bool) -> Pair:
    """One of the two sentences of the notes."""
    animal, way = NounPhrase(NOUNS["animal"], THE), NounPhrase(NOUNS["street"], THE)
    main = riddle_clause(FRAMES[0], animal, way, negative=True)
    main.tense = Tense.PAST
    predicate = Predicate(ADJECTIVES[adjective], DEGREES[0])
    return realise(
        riddle_sentence(main, ("because", "weil"), animal if is_subject else way, predicate)
    )


STREET: tuple[Pair, Pair] = (street("tired", is_subject=True), street("wide", is_subject=False))

RIDDLE_SHARE = 0.28
LARGEST = 2_000_000
PATIENCE = 2_000


def generate(pairs: int, seed: int = 1, held_out: int = 1000) -> Corpus:
    """Write a corpus: `pairs` for training, and `held_out` each for validation and test.

    Test and validation are drawn first, so they stay the same when the training set grows.
    """
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    if pairs + 2 * held_out > LARGEST:
        asked = pairs + 2 * held_out
        raise ValueError(f"The grammar gives {LARGEST} distinct pairs, but {asked} were asked for.")
    seen = {text for pair in STREET for text in (pair.source, pair.target)}
    test = draw(held_out, Part.TEST, seed, seen)
    valid = draw(held_out, Part.VALID, seed, seen)
    return Corpus(train=draw(pairs, Part.TRAIN, seed, seen), valid=valid, test=test)


def draw(count: int, part: Part, seed: int, seen: set[str]) -> list[Pair]:
    """Draw pairs whose source and target are both new; `seen` grows."""
    chance = random.Random(f"{seed} {part.value}")
    writer, riddler = Writer(chance), Riddler(chance, part)
    drawn: list[Pair] = []
    failures = 0
    while len(drawn) < count:
        turn = int(len(drawn) * RIDDLE_SHARE)
        riddle = int((len(drawn) + 1) * RIDDLE_SHARE) > turn
        pair = realise(riddler.sentence(turn) if riddle else writer.sentence())
        if pair.source not in seen and pair.target not in seen:
            seen.update((pair.source, pair.target))
            drawn.append(pair)
            failures = 0
            continue
        failures += 1
        if failures > PATIENCE:
            raise ValueError(f"The grammar ran out of new {part.value} pairs after {len(drawn)}.")
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
    starts = [
        index for index, word in enumerate(words) if word.strip(".,!?").lower() in CONJUNCTIONS
    ]
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
