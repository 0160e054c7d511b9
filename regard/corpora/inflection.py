"""The word classes of both languages and their forms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class Case(IntEnum):
    """The German cases of the grammar, which does without the genitive."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2


class Tense(Enum):
    """English tenses, translated by Präsens, Präteritum, Perfekt and Futur."""

    PRESENT = "present"
    PAST = "past"
    PERFECT = "perfect"
    FUTURE = "future"

    @property
    def simple(self) -> Tense:
        """The simple tense that goes with it: present with the future, past with the perfect."""
        return Tense.PRESENT if self in (Tense.PRESENT, Tense.FUTURE) else Tense.PAST


Rendering = tuple[str, str]
"""An uninflected English word and its German translation."""

Forms = tuple[str, str, str]
"""One form per case, in the order of Case."""

# Keys: the genders m, f and n in the singular, p for the plural of all three.
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
# Endings of determiners and adjectives. What the determiner does not show, the adjective does: ein
# großes Auto, but das große Auto.
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
    """A noun; its semantic kind decides which verbs and adjectives it can go with."""

    english: str
    english_plural: str
    german: str
    gender: str
    german_plural: str
    weak: bool
    kind: str

    @property
    def mass(self) -> bool:
        """Whether it is a mass noun: no plural, and no article needed, like bread."""
        return not self.german_plural

    def column(self, plural: bool) -> str:
        """The key in the declension tables."""
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
    """An article or similar word, and the adjective endings that follow it."""

    english: str
    english_plural: str
    german: str
    endings: dict[str, Forms]
    adjective_endings: dict[str, Forms]
    definite: bool = True

    def decline(self, column: str, case: Case) -> str:
        """The German form; the definite article has no stem."""
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
    """The forms from which all finite forms of a German verb follow: machen, macht, machte."""

    infinitive: str
    present: str
    past: str

    def finite(self, person: int, plural: bool, past: bool) -> str:
        """The form for a subject in the simple present or past."""
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
        """Du machst, but du isst and du sitzt, where the stem absorbs the s."""
        if self.present in SECOND_PERSON:
            return SECOND_PERSON[self.present]
        if not self.present.endswith("t"):  # a modal verb: du kannst, du musst
            return self.present + ("t" if self.present[-1] in "sßz" else "st")
        stem = self.present.removesuffix("t")
        return stem + ("t" if stem[-1] in "sßzx" else "st")


@dataclass(frozen=True)
class Argument:
    """An argument of a verb: its case, the kinds of noun it can be, an optional preposition."""

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
    """The separable prefix in German: an in ankommen."""
    german: Conjugation
    german_participle: str
    auxiliary: str
    subjects: tuple[str, ...]
    arguments: tuple[Argument, ...]
    takes_location: bool
    """Whether it can have a location."""
    stative: bool
    """Whether it describes a state and so occurs only in the present and the simple past."""
    involuntary: bool
    """Whether it happens to the subject, who can neither want it nor have a reason for it."""

    @property
    def infinitive(self) -> str:
        """The German infinitive, prefix included."""
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
    """A modal verb of one tense: English has a word per tense, German conjugates.

    `base` is empty for a true English modal; "want to" has one and takes "do" like any verb.
    """

    english: str
    third_person: str
    base: str
    tense: Tense
    german: Conjugation
    german_past: bool
    """Whether German uses the past form, as it also does for "should" in the present."""
    free: bool
    """Whether it can be negated and questioned; "mustn't" does not mean muss nicht."""

    def german_finite(self, person: int, plural: bool) -> str:
        """The finite German form; in the present singular, ich and er have the same form."""
        shared = person == 1 and not plural and not self.german_past
        return self.german.finite(3 if shared else person, plural, self.german_past)


@dataclass(frozen=True, eq=False)
class Adverbial:
    """A fixed time expression, whose i-th chunks in English and German are aligned."""

    english: tuple[tuple[str, ...], ...]
    german: tuple[tuple[str, ...], ...]
