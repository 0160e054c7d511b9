"""The word classes of both languages and their forms."""

from __future__ import annotations

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

    @property
    def simple(self) -> Tense:
        """What goes along with it: the present with the future, the past with the perfect."""
        return Tense.PRESENT if self in (Tense.PRESENT, Tense.FUTURE) else Tense.PAST


Rendering = tuple[str, str]
"""An English word and the German one for it, of a class that is not inflected."""

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
REFERRING: dict[str, Forms] = {
    "m": ("er", "ihn", "ihm"),
    "f": ("sie", "sie", "ihr"),
    "n": ("es", "es", "ihm"),
}
# Endings of determiners and adjectives; the less a determiner shows, the more is left to the
# adjective after it: ein großes Auto, but das große Auto.
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
    """An adjective; an absolute one, such as "closed", has no degree."""

    english: str
    german: str
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
    adjective_endings: dict[str, Forms]
    definite: bool = True

    def decline(self, column: str, case: Case) -> str:
        """The German form; the definite article is all ending."""
        return self.german + self.endings[column][case]


@dataclass(frozen=True, eq=False)
class Pronoun:
    """A personal or a question pronoun, with the German form for each case."""

    subject: str
    object: str
    german: Forms
    person: int
    plural: bool


SECOND_PERSON = {"hält": "hältst", "ist": "bist", "hat": "hast", "wird": "wirst"}
FIRST_PERSON = {"sein": "bin", "wissen": "weiß"}
PLURAL = {"sein": "sind"}


@dataclass(frozen=True)
class Conjugation:
    """What all finite forms of a German verb follow from: infinitive, er macht, er machte."""

    infinitive: str
    present: str
    past: str

    def finite(self, person: int, plural: bool, past: bool) -> str:
        """The form for a subject, in one of the two simple tenses."""
        if past and plural:
            return self.past + ("n" if self.past.endswith("e") else "en")
        if past:
            return self.past + "st" if person == 2 else self.past
        if plural:
            return PLURAL.get(self.infinitive, self.infinitive)
        if person == 3:
            return self.present
        return self.second_person() if person == 2 else self.first_person()

    def first_person(self) -> str:
        """Ich mache, ich füttere, but ich sammle."""
        if self.infinitive in FIRST_PERSON:
            return FIRST_PERSON[self.infinitive]
        if self.infinitive.endswith("eln"):
            return self.infinitive[:-3] + "le"
        return self.infinitive.removesuffix("n").removesuffix("e") + "e"

    def second_person(self) -> str:
        """Du machst, but du isst and du sitzt, where the stem swallows the s."""
        if self.present in SECOND_PERSON:
            return SECOND_PERSON[self.present]
        if not self.present.endswith("t"):  # a modal verb: du kannst, du musst
            return self.present + ("t" if self.present[-1] in "sßz" else "st")
        stem = self.present.removesuffix("t")
        return stem + ("t" if stem[-1] in "sßzx" else "st")


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
    """What German separates from the verb: an in ankommen."""
    german: Conjugation
    german_participle: str
    auxiliary: str
    subjects: tuple[str, ...]
    arguments: tuple[Argument, ...]
    takes_place: bool
    """Whether it can be said where it happens."""
    state: bool
    """Whether it is a state, and so stands in the present and the simple past only."""
    involuntary: bool
    """Whether it happens to somebody, who can neither want to do it nor have a reason."""

    @property
    def infinitive(self) -> str:
        """The German infinitive in one word."""
        return self.prefix + self.german.infinitive

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


@dataclass(frozen=True, eq=False)
class Modal:
    """A modal verb of one tense: English chooses the tense by the word, German conjugates.

    `base` is empty for a true English modal; "want to" has one and takes "do" like any verb.
    """

    english: str
    third_person: str
    base: str
    tense: Tense
    german: Conjugation
    german_past: bool
    """Whether German uses the form of the past, which for "should" is not the tense."""
    free: bool
    """Whether it may be denied and asked; "mustn't" would mean something else than muss nicht."""

    def german_finite(self, person: int, plural: bool) -> str:
        """The finite German form; in the present singular ich and er share one form."""
        shared = person == 1 and not plural and not self.german_past
        return self.german.finite(3 if shared else person, plural, self.german_past)


@dataclass(frozen=True, eq=False)
class Adverbial:
    """A fixed expression of time: chunk i of the English renders chunk i of the German."""

    english: tuple[tuple[str, ...], ...]
    german: tuple[tuple[str, ...], ...]
