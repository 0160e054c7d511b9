"""How words inflect and how a clause is put in order, in English and in German.

A clause is built once, as a structure of phrases, and realised twice. Each realised word carries
the nodes of the structure that it stands for, so two words are aligned when they share a node, and
each English word knows its head.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, IntEnum


class Case(IntEnum):
    """The German cases of the grammar; the genitive is left out on purpose."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2


class Tense(Enum):
    """English tenses; German follows with Präsens, Präteritum, Perfekt and Futur."""

    PRESENT = "present"
    PAST = "past"
    PERFECT = "perfect"
    FUTURE = "future"


Forms = tuple[str, str, str]
"""One form for each case, in the order of Case."""

# Columns are the genders m, f, n of the singular, and p for the plural of all three.
DEFINITE: dict[str, Forms] = {
    "m": ("der", "den", "dem"),
    "f": ("die", "die", "der"),
    "n": ("das", "das", "dem"),
    "p": ("die", "die", "den"),
}
RELATIVE: dict[str, Forms] = DEFINITE | {"p": ("die", "die", "denen")}
STRONG: dict[str, Forms] = {
    "m": ("er", "en", "em"),
    "f": ("e", "e", "er"),
    "n": ("es", "es", "em"),
    "p": ("e", "e", "en"),
}
MIXED: dict[str, Forms] = {
    "m": ("er", "en", "en"),
    "f": ("e", "e", "en"),
    "n": ("es", "es", "en"),
    "p": ("en", "en", "en"),
}
WEAK: dict[str, Forms] = {
    "m": ("e", "en", "en"),
    "f": ("e", "e", "en"),
    "n": ("e", "e", "en"),
    "p": ("en", "en", "en"),
}
EIN: dict[str, Forms] = {
    "m": ("", "en", "em"),
    "f": ("e", "e", "er"),
    "n": ("", "", "em"),
    "p": ("e", "e", "en"),
}
UNINFLECTED: dict[str, Forms] = dict.fromkeys("mfnp", ("", "", ""))


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun; `kind` says what it is, and so which verbs and adjectives it can go with."""

    english: str
    english_plural: str
    german: str
    gender: str
    german_plural: str
    weak: bool
    kind: str

    @property
    def mass(self) -> bool:
        """Whether the noun has no plural and can stand without an article, like bread."""
        return not self.german_plural

    def column(self, plural: bool) -> str:
        """The column of the declension tables."""
        return "p" if plural else self.gender

    def decline(self, case: Case, plural: bool) -> str:
        """The German form; weak nouns take the form of the plural outside the nominative."""
        if plural:
            bare = case is not Case.DATIVE or self.german_plural[-1] in "ns"
            return self.german_plural if bare else self.german_plural + "n"
        if self.weak and case is not Case.NOMINATIVE:
            return self.german_plural
        return self.german


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective with the kinds of noun that it describes; an absolute one has no degree."""

    english: str
    german: str
    kinds: frozenset[str]
    absolute: bool

    def decline(self, ending: str) -> str:
        """The German form before a noun."""
        stem = "hoh" if self.german == "hoch" else self.german
        if stem.endswith(("el", "auer", "euer")):
            stem = stem[:-2] + stem[-1]
        return stem.removesuffix("e") + ending


@dataclass(frozen=True, eq=False)
class Determiner:
    """An article or a word in its place, and the endings that it leaves to the adjective."""

    english: str
    english_plural: str
    german: str
    endings: dict[str, Forms]
    adjective: dict[str, Forms]
    definite: bool = True

    def decline(self, column: str, case: Case) -> str:
        """The German form."""
        return self.german + self.endings[column][case]


@dataclass(frozen=True, eq=False)
class Pronoun:
    """A personal pronoun of either language."""

    subject: str
    object: str
    german: Forms
    person: int
    plural: bool


@dataclass(frozen=True)
class Argument:
    """What a verb asks for: a case, the kinds of noun, and perhaps a preposition."""

    case: Case
    kinds: tuple[str, ...]
    english: str = ""
    german: str = ""


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb with its principal parts in both languages, its subjects and its arguments."""

    base: str
    past: str
    participle: str
    particle: str
    prefix: str
    infinitive: str
    german_present: str
    german_past: str
    german_participle: str
    auxiliary: str
    subjects: tuple[str, ...]
    arguments: tuple[Argument, ...]
    flags: str

    def third_person(self) -> str:
        """The English present with -s."""
        if self.base == "have":
            return "has"
        if self.base.endswith(("s", "x", "sh", "ch", "o")):
            return self.base + "es"
        if self.base.endswith("y") and self.base[-2] not in "aeou":
            return self.base[:-1] + "ies"
        return self.base + "s"

    def english_finite(self, person: int, plural: bool, past: bool) -> str:
        """The finite English form."""
        if self.base == "be":
            if plural or person == 2:
                return "were" if past else "are"
            present = "am" if person == 1 else "is"
            return "was" if past else present
        if past:
            return self.past
        return self.third_person() if person == 3 and not plural else self.base

    def german_finite(self, person: int, plural: bool, past: bool) -> str:
        """The finite German form without a separable prefix."""
        return conjugate(
            self.infinitive, self.german_present, self.german_past, person, plural, past
        )


SECOND_PERSON = {"hält": "hältst", "ist": "bist", "hat": "hast", "wird": "wirst"}
FIRST_PERSON = {"sein": "bin", "wissen": "weiß"}
PLURAL = {"sein": "sind"}


def conjugate(
    infinitive: str, present: str, past_form: str, person: int, plural: bool, past: bool
) -> str:
    """Find a finite German form from the infinitive and the third person of both tenses."""
    if past:
        if plural:
            return past_form + ("n" if past_form.endswith("e") else "en")
        return past_form + "st" if person == 2 else past_form
    if plural:
        return PLURAL.get(infinitive, infinitive)
    if person == 3:
        return present
    if person == 2:
        return SECOND_PERSON.get(present) or second_person(present)
    return FIRST_PERSON.get(infinitive) or first_person(infinitive)


def first_person(infinitive: str) -> str:
    """Ich mache, ich füttere, but ich sammle."""
    if infinitive.endswith("eln"):
        return infinitive[:-3] + "le"
    return infinitive.removesuffix("n").removesuffix("e") + "e"


def second_person(present: str) -> str:
    """Du machst, but du isst and du sitzt, where the stem swallows the s; modals only add st."""
    if not present.endswith("t"):
        return present + ("t" if present[-1] in "sßz" else "st")
    stem = present.removesuffix("t")
    return stem + ("t" if stem[-1] in "sßzx" else "st")


@dataclass(frozen=True, eq=False)
class Modal:
    """A modal verb of one tense: English chooses the tense by the word, German conjugates.

    `base` is empty for a true English modal; "want to" has one and takes "do" like any verb.
    """

    english: str
    third_person: str
    base: str
    tense: Tense
    infinitive: str
    german_present: str
    german_past: str
    german_is_past: bool
    free: bool
    """Whether it may be denied and asked; "mustn't" would mean something else than muss nicht."""

    def german_finite(self, person: int, plural: bool) -> str:
        """The finite German form; in the present singular ich and er share one form."""
        shared = person == 1 and not plural and not self.german_is_past
        return conjugate(
            self.infinitive,
            self.german_present,
            self.german_past,
            3 if shared else person,
            plural,
            self.german_is_past,
        )


@dataclass(frozen=True, eq=False)
class Adverbial:
    """A fixed expression of time: chunk i of the English renders chunk i of the German."""

    english: tuple[tuple[str, ...], ...]
    german: tuple[tuple[str, ...], ...]


Node = tuple[object, str]
"""A place in the structure: the phrase or clause, and the part of it."""


class Word:
    """A realised word: its text, the nodes it stands for and, in English, its head."""

    __slots__ = ("head", "nodes", "text")

    def __init__(self, text: str, *nodes: Node) -> None:
        """A word that is not attached yet."""
        self.text = text
        self.nodes = nodes
        self.head: Word | None = None


def attach(words: list[Word], head: Word) -> list[Word]:
    """Hang every word that has no head yet, and is not the head itself, on the head."""
    for word in words:
        if word.head is None and word is not head:
            word.head = head
    return words


def comma(words: list[Word]) -> list[Word]:
    """Close a group of words with a comma."""
    words[-1].text = words[-1].text.rstrip(",") + ","
    return words


def vowel_sound(text: str) -> bool:
    """Whether English says "an" before it."""
    return text == "honest" or (text[0] in "aeiou" and text != "useful")


class Phrase(ABC):
    """Anything that can be the subject or the object of a clause."""

    person: int = 3
    plural: bool = False
    definite: bool = True
    light: bool = False
    """Whether German puts it right behind the verb, as it does with pronouns and names."""

    @abstractmethod
    def english(self, as_object: bool) -> list[Word]:
        """The English words, all but one of them attached."""

    @abstractmethod
    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """The German words; with a negation, an indefinite phrase says kein."""

    def article(self) -> bool:
        """Whether the phrase begins with a plain article that may melt into a preposition."""
        return False

    def german_relative(self) -> list[Word]:
        """The words of a relative clause, which German may set apart from its noun."""
        return []


@dataclass(eq=False)
class NounPhrase(Phrase):
    """Determiner, adjective, noun and relative clause."""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    adjective: Adjective | None = None
    relative: "Clause | None" = None

    def __post_init__(self) -> None:
        """Take over what word order asks about."""
        self.definite = self.determiner.definite

    def article(self) -> bool:
        """True of the definite article only: im See, but in diesem See and in dem See, der."""
        return self.determiner.endings is DEFINITE and self.relative is None

    def english(self, as_object: bool) -> list[Word]:
        """The noun is the head; the relative clause hangs on it."""
        noun = Word(self.noun.english_plural if self.plural else self.noun.english, (self, "noun"))
        adjective = self.adjective
        words = [Word(adjective.english, (self, "adjective"))] if adjective else []
        words.append(noun)
        determiner = self.determiner.english_plural if self.plural else self.determiner.english
        if determiner == "a" and vowel_sound(words[0].text):
            determiner = "an"
        words = [Word(part, (self, "determiner")) for part in determiner.split()] + words
        if self.relative:
            words += self.relative.english()
        return attach(words, noun)

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """The words without the relative clause."""
        column = self.noun.column(self.plural)
        determiner, endings = self.determiner.decline(column, case), self.determiner.adjective
        nodes: tuple[Node, ...] = ((self, "determiner"),)
        if negation:
            determiner, endings = "kein" + EIN[column][case], MIXED
            nodes = (*nodes, negation)
        words = [Word(part, *nodes) for part in determiner.split()]
        if self.adjective:
            text = self.adjective.decline(endings[column][case])
            words.append(Word(text, (self, "adjective")))
        words.append(Word(self.noun.decline(case, self.plural), (self, "noun")))
        return words

    def german_relative(self) -> list[Word]:
        """The relative clause, if there is one."""
        return self.relative.german_last() if self.relative else []


@dataclass(eq=False)
class Personal(Phrase):
    """A personal or a question pronoun."""

    pronoun: Pronoun
    light = True

    def __post_init__(self) -> None:
        """Take over what agreement asks about."""
        self.person, self.plural = self.pronoun.person, self.pronoun.plural

    def english(self, as_object: bool) -> list[Word]:
        """One word."""
        text = self.pronoun.object if as_object else self.pronoun.subject
        return [Word(text, (self, "pronoun"))]

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """One word."""
        return [Word(self.pronoun.german[case], (self, "pronoun"))]


@dataclass(eq=False)
class Referring(Phrase):
    """The pronoun "it", whose German gender is that of the noun it refers to."""

    antecedent: NounPhrase
    light = True

    def english(self, as_object: bool) -> list[Word]:
        """English does not tell what it refers to."""
        return [Word("it", (self, "pronoun"))]

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """German does."""
        return [Word(REFERRING[self.antecedent.noun.gender][case], (self, "pronoun"))]


@dataclass(eq=False)
class Relative(Phrase):
    """A relative pronoun: who, whom and that; der, die and das in all their cases."""

    antecedent: NounPhrase

    def __post_init__(self) -> None:
        """Agree with the antecedent."""
        self.plural = self.antecedent.plural

    def english(self, as_object: bool) -> list[Word]:
        """Only persons are who."""
        text = "whom" if as_object else "who"
        person = self.antecedent.noun.kind == "person"
        return [Word(text if person else "that", (self, "pronoun"))]

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """Gender and number of the antecedent, case of the relative clause."""
        column = self.antecedent.noun.column(self.plural)
        return [Word(RELATIVE[column][case], (self, "pronoun"))]


@dataclass(eq=False)
class Name(Phrase):
    """A person by name, the same in both languages."""

    name: str
    light = True

    def english(self, as_object: bool) -> list[Word]:
        """One word."""
        return [Word(self.name, (self, "name"))]

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """One word, without an article."""
        return [Word(self.name, (self, "name"))]


@dataclass(eq=False)
class Both(Phrase):
    """Two phrases joined by "and"."""

    first: Phrase
    second: Phrase
    plural = True

    def english(self, as_object: bool) -> list[Word]:
        """The first phrase is the head."""
        first = self.first.english(as_object)
        second = self.second.english(as_object)
        top = next(word for word in second if word.head is None)
        head = next(word for word in first if word.head is None)
        conjunction = Word("and", (self, "and"))
        conjunction.head = top
        return attach([*first, conjunction, *second], head)

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """Both phrases stand in the same case."""
        conjunction = Word("und", (self, "and"))
        return [*self.first.german(case), conjunction, *self.second.german(case)]


@dataclass(eq=False)
class Asking(Phrase):
    """A question adverb: where, when, why."""

    word: str
    rendering: str

    def english(self, as_object: bool) -> list[Word]:
        """One word."""
        return [Word(self.word, (self, "adverb"))]

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """One word."""
        return [Word(self.rendering, (self, "adverb"))]


REFERRING: dict[str, Forms] = {
    "m": ("er", "ihn", "ihm"),
    "f": ("sie", "sie", "ihr"),
    "n": ("es", "es", "ihm"),
}
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
}


@dataclass(eq=False)
class Prepositional:
    """A preposition with its phrase; German asks for a case."""

    word: str
    rendering: str
    case: Case
    phrase: Phrase

    def english(self, moved: Phrase | None = None) -> list[Word]:
        """Only the preposition stays behind when the phrase has moved to the front."""
        words = [Word(part, (self, "preposition")) for part in self.word.split()]
        if self.phrase is moved:
            return words
        phrase = self.phrase.english(as_object=True)
        head = next(word for word in phrase if word.head is None)
        return attach([*words, *phrase], head)

    def german(self) -> list[Word]:
        """In dem becomes im."""
        phrase = self.phrase.german(self.case)
        melted = (
            CONTRACTIONS.get((self.rendering, phrase[0].text)) if self.phrase.article() else None
        )
        if melted:
            phrase[0] = Word(melted, (self, "preposition"), *phrase[0].nodes)
            return phrase
        return [Word(self.rendering, (self, "preposition")), *phrase]


@dataclass(eq=False)
class Predicate:
    """An adjective after "to be", perhaps with a degree such as "too"."""

    adjective: Adjective
    degree: tuple[str, str] | None = None

    def english(self) -> list[Word]:
        """The adjective is the head of the clause, as in Universal Dependencies."""
        adjective = Word(self.adjective.english, (self, "adjective"))
        degree = [Word(self.degree[0], (self, "degree"))] if self.degree else []
        return attach([*degree, adjective], adjective)

    def german(self) -> list[Word]:
        """A predicate is not inflected."""
        degree = [Word(self.degree[1], (self, "degree"))] if self.degree else []
        return [*degree, Word(self.adjective.german, (self, "adjective"))]


CONTRACTED = {"will": "won't", "can": "can't"}
UNCONTRACTED = ("am", "may")
AUXILIARIES = {"haben": ("hat", "hatte"), "sein": ("ist", "war"), "werden": ("wird", "wurde")}


@dataclass(eq=False)
class Clause:
    """What is said, before it is put in the order of either language.

    `front` is a phrase that leaves its place for the beginning: a relative or a question word.
    """

    subject: Phrase
    verb: Verb
    tense: Tense = Tense.PRESENT
    modal: Modal | None = None
    negative: bool = False
    question: bool = False
    indirect: Phrase | None = None
    direct: Phrase | None = None
    complement: Prepositional | None = None
    place: Prepositional | None = None
    predicate: Predicate | None = None
    time: Adverbial | None = None
    time_first: bool = False
    frequency: tuple[str, str] | None = None
    front: Phrase | None = None

    def english(self) -> list[Word]:
        """Subject, verb, objects, place, time; questions put the first verb before the subject."""
        chain = self.english_verbs()
        predicate = self.predicate.english() if self.predicate else []
        head = predicate[-1] if predicate else chain[-1]
        often = [Word(self.frequency[0], (self, "frequency"))] if self.frequency else []
        subject = [] if self.front is self.subject else self.subject.english(as_object=False)
        words = self.english_time() if self.time_first else []
        if self.front:
            words += self.front.english(as_object=self.front is not self.subject)
        if self.inverted():
            words += [chain[0], *subject, *often, *chain[1:]]
        elif len(chain) == 1 and not self.predicate:
            words += [*subject, *often, *chain]
        else:
            words += [*subject, chain[0], *often, *chain[1:]]
        if self.verb.particle:
            words.append(Word(self.verb.particle, (self, "verb")))
        words += self.english_objects() + predicate
        if self.place:
            words += self.place.english()
        if not self.time_first:
            words += self.english_time()
        return attach(words, head)

    def inverted(self) -> bool:
        """Whether a verb stands before the subject; not when the subject itself asks."""
        return self.question and self.front is not self.subject

    def english_objects(self) -> list[Word]:
        """Whatever has not moved to the front."""
        words: list[Word] = []
        for phrase in (self.indirect, self.direct):
            if phrase and phrase is not self.front:
                words += phrase.english(as_object=True)
        return words + (self.complement.english(self.front) if self.complement else [])

    def english_time(self) -> list[Word]:
        """The last word of an expression of time is its head."""
        chunks = self.time.english if self.time else ()
        words = [
            Word(text, (self, f"time {index}"))
            for index, chunk in enumerate(chunks)
            for text in chunk
        ]
        return attach(words, words[-1]) if words else words

    def english_verbs(self) -> list[Word]:
        """The finite verb and what depends on it, with "do" where English needs it."""
        subject, verb, modal = self.subject, self.verb, self.modal
        lexical, modality, helper = (self, "verb"), (self, "modal"), (self, "auxiliary")
        third = subject.person == 3 and not subject.plural
        support = self.negative or self.inverted()
        past = (modal.tense if modal else self.tense) is Tense.PAST
        do = Word("did" if past else "does" if third else "do", modality if modal else lexical)
        if modal:
            finite = Word(modal.third_person if third else modal.english, modality)
            infinitive = [Word("to", lexical)] if modal.base else []
            infinitive.append(Word(verb.base, lexical))
            if modal.base and support:
                chain = [do, Word(modal.base, modality), *infinitive]
            else:
                chain = [finite, *infinitive]
        elif self.tense is Tense.PERFECT:
            chain = [Word("has" if third else "have", helper), Word(verb.participle, lexical)]
        elif self.tense is Tense.FUTURE:
            chain = [Word("will", helper), Word(verb.base, lexical)]
        elif support and verb.base != "be":
            chain = [do, Word(verb.base, lexical)]
        else:
            chain = [Word(verb.english_finite(subject.person, subject.plural, past), lexical)]
        return self.english_negation(chain, do) if self.negative else chain

    def english_negation(self, chain: list[Word], do: Word) -> list[Word]:
        """Contract "not" with the first verb; "do" then stands for the negation alone."""
        negation, first = (self, "negation"), chain[0]
        if first.text in UNCONTRACTED:
            return [first, Word("not", negation), *chain[1:]]
        nodes = () if first is do else first.nodes
        contracted = Word(CONTRACTED.get(first.text, first.text + "n't"), *nodes, negation)
        return [contracted, *chain[1:]]

    def german_main(self, follows: bool = False) -> list[Word]:
        """Verb second; verb first in a question, and when a clause before it is the first thing."""
        finite, bracket = self.german_verbs()
        inside: list[Word] = []
        if self.front:
            words = self.german_front()
        elif self.time_first:
            words = self.german_time()
        elif self.question or follows:
            words = []
        else:
            words = self.german_subject()
        if words == [] or self.time_first or self.front not in (None, self.subject):
            inside = self.german_subject()
        words = [*words, finite, *inside, *self.german_middle(), *bracket]
        return self.with_relative(words)

    def german_last(self) -> list[Word]:
        """The verb at the end, as in relative and subordinate clauses."""
        finite, bracket = self.german_verbs()
        words = self.german_front() if self.front else []
        if self.front is not self.subject:
            words += self.german_subject()
        words += self.german_middle()
        if bracket and bracket[0].text == self.verb.prefix:
            words.append(Word(self.verb.prefix + finite.text, *finite.nodes))
        else:
            words += [*bracket, finite]
        return self.with_relative(words)

    def with_relative(self, words: list[Word]) -> list[Word]:
        """Set the relative clause of an object behind the verbs."""
        complement = self.complement.phrase if self.complement else None
        for phrase in (self.indirect, self.direct, complement):
            relative = phrase.german_relative() if phrase else []
            if relative:
                return comma(words) + relative
        return words

    def german_subject(self) -> list[Word]:
        """The subject keeps its relative clause, between commas."""
        words, relative = self.subject.german(Case.NOMINATIVE), self.subject.german_relative()
        return comma(words) + comma(relative) if relative else words

    def german_front(self) -> list[Word]:
        """The phrase that moved, in the case of the place it left."""
        if self.complement and self.front is self.complement.phrase:
            return self.complement.german()
        if self.front is None:
            return []
        cases = {id(self.direct): Case.ACCUSATIVE, id(self.indirect): Case.DATIVE}
        return self.front.german(cases.get(id(self.front), Case.NOMINATIVE))

    def german_time(self) -> list[Word]:
        """The words of the expression of time."""
        chunks = self.time.german if self.time else ()
        return [
            Word(text, (self, f"time {index}"))
            for index, chunk in enumerate(chunks)
            for text in chunk
        ]

    def german_middle(self) -> list[Word]:
        """Between the verbs: dative, time, object, nicht, place and the rest.

        A pronoun or a name comes first; a definite object comes before the time if it is denied; an
        indefinite one comes last and is denied by kein.
        """
        words: list[Word] = []
        target, case = self.direct, Case.ACCUSATIVE
        if not target:
            target, case = self.indirect, Case.DATIVE
        elif self.indirect and self.indirect is not self.front:
            words += self.indirect.german(Case.DATIVE)
        if target is self.front:
            target = None
        negation = (self, "negation")
        adverbs = [] if self.time_first else self.german_time()
        if self.frequency:
            adverbs.append(Word(self.frequency[1], (self, "frequency")))
        place = self.place.german() if self.place else []
        if target and not target.definite:
            entity = target.german(case, negation if self.negative else None)
            words += [*adverbs, *place, *entity]
        else:
            entity = target.german(case) if target else []
            never = self.frequency and self.frequency[0] == "never"
            early = self.negative or never or (target and target.light)
            words += entity + adverbs if early else adverbs + entity
            words += [Word("nicht", negation)] if self.negative else []
            words += place
        words += self.complement.german() if self.complement and not self.moved() else []
        return words + (self.predicate.german() if self.predicate else [])

    def moved(self) -> bool:
        """Whether the complement has gone to the front together with its preposition."""
        return self.complement is not None and self.complement.phrase is self.front

    def german_verbs(self) -> tuple[Word, list[Word]]:
        """The finite verb and the other end of the bracket."""
        subject, verb = self.subject, self.verb
        lexical = (self, "verb")
        infinitive = [Word(verb.prefix + verb.infinitive, lexical)]
        if self.modal:
            text = self.modal.german_finite(subject.person, subject.plural)
            return Word(text, (self, "modal")), infinitive
        if self.tense in (Tense.PERFECT, Tense.FUTURE):
            perfect = self.tense is Tense.PERFECT
            name = verb.auxiliary if perfect else "werden"
            text = conjugate(name, *AUXILIARIES[name], subject.person, subject.plural, past=False)
            rest = [Word(verb.german_participle, lexical)] if perfect else infinitive
            return Word(text, (self, "auxiliary")), rest
        text = verb.german_finite(subject.person, subject.plural, self.tense is Tense.PAST)
        return Word(text, lexical), [Word(verb.prefix, lexical)] if verb.prefix else []


@dataclass(eq=False)
class Sentence:
    """A main clause, and perhaps a second clause joined by a conjunction."""

    main: Clause
    link: tuple[str, str] | None = None
    other: Clause | None = None
    other_first: bool = False
    coordinated: bool = False

    def english(self) -> list[Word]:
        """English sets a comma behind a clause that comes first, and before "but"."""
        main = self.main.english()
        head = next(word for word in main if word.head is None)
        if self.other and self.link:
            other = self.other.english()
            top = next(word for word in other if word.head is None)
            other = attach([Word(self.link[0], (self, "link")), *other], top)
            if self.link[0] == "but":
                main = comma(main)
            main = comma(other) + main if self.other_first else main + other
        return attach(main, head)

    def german(self) -> list[Word]:
        """German sets a comma between any two clauses but those joined by und."""
        if not self.other or not self.link:
            return self.main.german_main()
        link = Word(self.link[1], (self, "link"))
        if self.coordinated:
            main = self.main.german_main()
            if self.link[1] != "und":
                main = comma(main)
            return [*main, link, *self.other.german_main()]
        if self.other_first:
            return comma([link, *self.other.german_last()]) + self.main.german_main(follows=True)
        return [*comma(self.main.german_main()), link, *self.other.german_last()]
