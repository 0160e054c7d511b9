"""Phrases: the parts of a clause, realised in both languages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from regard.corpora.inflection import (
    DEFINITE,
    EIN,
    MIXED,
    REFERRING,
    RELATIVE,
    Adjective,
    Case,
    Determiner,
    Noun,
    Pronoun,
    Rendering,
)
from regard.corpora.words import Node, Word, attach, root


class Phrase(ABC):
    """Anything that can be the subject or the object of a clause."""

    person: int = 3
    plural: bool = False
    definite: bool = True
    light: bool = False
    """Whether German puts it right after the verb, as it does pronouns and names."""

    @abstractmethod
    def english(self, as_object: bool) -> list[Word]:
        """The English words; all but one have a parent."""

    @abstractmethod
    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """The German words; a negation makes the determiner of an indefinite phrase kein."""

    def german_relative(self) -> list[Word]:
        """The words of the relative clause, which German may separate from its noun."""
        return []

    def begins_with_article(self) -> bool:
        """Whether it begins with an article that can contract with a preposition."""
        return False

    def members(self) -> list[Phrase]:
        """The phrases joined by "and", or the phrase alone."""
        return [self]

    def nouns(self) -> list[Noun]:
        """The nouns that it refers to; for a relative pronoun, that of its antecedent."""
        return []


class Subordinate(Protocol):
    """What a noun phrase uses of its relative clause."""

    def english(self) -> list[Word]: ...

    def german_subordinate(self) -> list[Word]: ...


@dataclass(eq=False)
class NounPhrase(Phrase):
    """Determiner, adjective, noun and relative clause."""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    adjective: Adjective | None = None
    relative: Subordinate | None = None

    def __post_init__(self) -> None:
        """Copy what word order depends on."""
        self.definite = self.determiner.definite

    def english(self, as_object: bool) -> list[Word]:
        """The noun is the head; the relative clause depends on it."""
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
        determiner = self.determiner.decline(column, case)
        endings = self.determiner.adjective_endings
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
        return self.relative.german_subordinate() if self.relative else []

    def begins_with_article(self) -> bool:
        """Only with a definite article: im See, but in diesem See, and in dem See, der."""
        return self.determiner.endings is DEFINITE and self.relative is None

    def nouns(self) -> list[Noun]:
        """The noun of the phrase, without those of the relative clause."""
        return [self.noun]


def vowel_sound(text: str) -> bool:
    """Whether the article before it is "an"."""
    return text == "honest" or (text[0] in "aeiou" and text != "useful")


@dataclass(eq=False)
class PersonalPronoun(Phrase):
    """A personal or a question pronoun."""

    pronoun: Pronoun
    light = True

    def __post_init__(self) -> None:
        """Copy what agreement depends on."""
        self.person, self.plural = self.pronoun.person, self.pronoun.plural

    def english(self, as_object: bool) -> list[Word]:
        """Me, him and whom are objects."""
        text = self.pronoun.object if as_object else self.pronoun.subject
        return [Word(text, (self, "pronoun"))]

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """One form per case."""
        return [Word(self.pronoun.german[case], (self, "pronoun"))]


@dataclass(eq=False)
class ReferringPronoun(Phrase):
    """The pronoun "it", whose German gender is that of its antecedent."""

    antecedent: NounPhrase
    light = True

    def english(self, as_object: bool) -> list[Word]:
        """English does not show the antecedent."""
        return [Word("it", (self, "pronoun"))]

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """The gender of the antecedent shows."""
        return [Word(REFERRING[self.antecedent.noun.gender][case], (self, "pronoun"))]


@dataclass(eq=False)
class RelativePronoun(Phrase):
    """A relative pronoun: who, whom and that; der, die and das in all their cases."""

    antecedent: NounPhrase

    def __post_init__(self) -> None:
        """Agree with the antecedent."""
        self.plural = self.antecedent.plural

    def english(self, as_object: bool) -> list[Word]:
        """Who or whom for persons, otherwise that."""
        text = "whom" if as_object else "who"
        person = self.antecedent.noun.kind == "person"
        return [Word(text if person else "that", (self, "pronoun"))]

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """Gender and number of the antecedent; the case is that of its role in the clause."""
        column = self.antecedent.noun.column(self.plural)
        return [Word(RELATIVE[column][case], (self, "pronoun"))]

    def nouns(self) -> list[Noun]:
        """The noun of the antecedent."""
        return self.antecedent.nouns()


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
class Coordination(Phrase):
    """Two phrases joined by "and"."""

    first: Phrase
    second: Phrase
    plural = True

    def english(self, as_object: bool) -> list[Word]:
        """The first phrase is the head."""
        first = self.first.english(as_object)
        second = self.second.english(as_object)
        conjunction = Word("and", (self, "and"))
        conjunction.parent = root(second)
        return attach([*first, conjunction, *second], root(first))

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """Both phrases are in the same case."""
        conjunction = Word("und", (self, "and"))
        return [*self.first.german(case), conjunction, *self.second.german(case)]

    def members(self) -> list[Phrase]:
        """Both phrases."""
        return [self.first, self.second]

    def nouns(self) -> list[Noun]:
        """The nouns of both phrases."""
        return self.first.nouns() + self.second.nouns()


@dataclass(eq=False)
class QuestionAdverb(Phrase):
    """A question adverb: where, when, why."""

    adverb: Rendering

    def english(self, as_object: bool) -> list[Word]:
        """One word."""
        return [Word(self.adverb[0], (self, "adverb"))]

    def german(self, case: Case, negation: Node | None = None) -> list[Word]:
        """One word."""
        return [Word(self.adverb[1], (self, "adverb"))]


CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
}


@dataclass(eq=False)
class PrepositionalPhrase:
    """A preposition and its phrase, with the case that the German preposition takes."""

    preposition: Rendering
    case: Case
    phrase: Phrase

    def english(self, moved: Phrase | None = None) -> list[Word]:
        """Only the preposition, if the phrase has moved to the front."""
        words = [Word(part, (self, "preposition")) for part in self.preposition[0].split()]
        if self.phrase is moved:
            return words
        phrase = self.phrase.english(as_object=True)
        return attach([*words, *phrase], root(phrase))

    def german(self) -> list[Word]:
        """With contractions: in dem becomes im."""
        preposition, phrase = self.preposition[1], self.phrase.german(self.case)
        if self.phrase.begins_with_article():
            article = phrase[0]
            contracted = CONTRACTIONS.get((preposition, article.text))
            if contracted:
                return [Word(contracted, (self, "preposition"), *article.nodes), *phrase[1:]]
        return [Word(preposition, (self, "preposition")), *phrase]


@dataclass(eq=False)
class Predicate:
    """An adjective after "to be", optionally with a degree such as "too"."""

    adjective: Adjective
    degree: Rendering | None = None

    def english(self) -> list[Word]:
        """The adjective is the head of the clause, as in Universal Dependencies."""
        adjective = Word(self.adjective.english, (self, "adjective"))
        degree = [Word(self.degree[0], (self, "degree"))] if self.degree else []
        return attach([*degree, adjective], adjective)

    def german(self) -> list[Word]:
        """Predicative adjectives are not inflected."""
        degree = [Word(self.degree[1], (self, "degree"))] if self.degree else []
        return [*degree, Word(self.adjective.german, (self, "adjective"))]
