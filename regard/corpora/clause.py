"""Clauses and sentences: what is said, and how each language puts it in order."""

from __future__ import annotations

from dataclasses import dataclass

from regard.corpora.inflection import (
    Adverbial,
    Argument,
    Case,
    Conjugation,
    Modal,
    Rendering,
    Tense,
    Verb,
)
from regard.corpora.phrases import Phrase, Predicate, Prepositional
from regard.corpora.words import Word, attach, comma, root

CONTRACTED = {"will": "won't", "can": "can't"}
UNCONTRACTED = ("am", "may")
AUXILIARIES = {
    "haben": Conjugation("haben", "hat", "hatte"),
    "sein": Conjugation("sein", "ist", "war"),
    "werden": Conjugation("werden", "wird", "wurde"),
}


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
    frequency: Rendering | None = None
    front: Phrase | None = None

    def fill(self, argument: Argument, phrase: Phrase) -> None:
        """Put a phrase where the verb wants it."""
        if argument.german:
            preposition = (argument.english, argument.german)
            self.complement = Prepositional(preposition, argument.case, phrase)
        elif argument.case is Case.DATIVE:
            self.indirect = phrase
        else:
            self.direct = phrase

    def english(self) -> list[Word]:
        """Subject, verb, objects, place, time; questions put the first verb before the subject."""
        finite, *other_verbs = self.english_verbs()
        predicate = self.predicate.english() if self.predicate else []
        head = [finite, *other_verbs, *predicate][-1]
        often = [Word(self.frequency[0], (self, "frequency"))] if self.frequency else []
        subject = [] if self.front is self.subject else self.subject.english(as_object=False)
        words = self.english_time() if self.time_first else []
        if self.front:
            words += self.front.english(as_object=self.front is not self.subject)
        if self.inverted():
            words += [finite, *subject, *often, *other_verbs]
        elif other_verbs or self.predicate:
            words += [*subject, finite, *often, *other_verbs]
        else:
            words += [*subject, *often, finite]
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
        words = self.time_words(self.time.english) if self.time else []
        return attach(words, words[-1]) if words else words

    def time_words(self, chunks: tuple[tuple[str, ...], ...]) -> list[Word]:
        """The words of either language; those of the same chunk render each other."""
        return [
            Word(text, (self, f"time {index}"))
            for index, chunk in enumerate(chunks)
            for text in chunk
        ]

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
        """Verb second; verb first in a question, and when it follows a clause, the first thing."""
        finite, bracket = self.german_verbs()
        subject: list[Word] = []
        if self.front:
            first = self.german_front()
            if self.front is not self.subject:
                subject = self.german_subject()
        elif self.time_first:
            first, subject = self.german_time(), self.german_subject()
        elif self.question or follows:
            first, subject = [], self.german_subject()
        else:
            first = self.german_subject()
        words = [*first, finite, *subject, *self.german_middle(), *bracket]
        return self.with_relative(words)

    def german_last(self) -> list[Word]:
        """The verb at the end, as in relative and subordinate clauses."""
        finite, bracket = self.german_verbs()
        words = self.german_front()
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
        if self.front is None:
            return []
        if self.complement and self.front is self.complement.phrase:
            return self.complement.german()
        cases = {id(self.direct): Case.ACCUSATIVE, id(self.indirect): Case.DATIVE}
        return self.front.german(cases.get(id(self.front), Case.NOMINATIVE))

    def german_time(self) -> list[Word]:
        """The words of the expression of time."""
        return self.time_words(self.time.german) if self.time else []

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
        if self.complement and self.complement.phrase is not self.front:
            words += self.complement.german()
        return words + (self.predicate.german() if self.predicate else [])

    def german_verbs(self) -> tuple[Word, list[Word]]:
        """The finite verb and the other end of the bracket."""
        person, plural, verb = self.subject.person, self.subject.plural, self.verb
        lexical, helper = (self, "verb"), (self, "auxiliary")
        infinitive = [Word(verb.infinitive, lexical)]
        if self.modal:
            return Word(self.modal.german_finite(person, plural), (self, "modal")), infinitive
        if self.tense is Tense.PERFECT:
            text = AUXILIARIES[verb.auxiliary].finite(person, plural, past=False)
            return Word(text, helper), [Word(verb.german_participle, lexical)]
        if self.tense is Tense.FUTURE:
            text = AUXILIARIES["werden"].finite(person, plural, past=False)
            return Word(text, helper), infinitive
        text = verb.german.finite(person, plural, past=self.tense is Tense.PAST)
        return Word(text, lexical), [Word(verb.prefix, lexical)] if verb.prefix else []


@dataclass(eq=False)
class Sentence:
    """A main clause, and perhaps a second clause joined by a conjunction."""

    main: Clause
    link: Rendering | None = None
    other: Clause | None = None
    other_first: bool = False
    coordinated: bool = False

    def english(self) -> list[Word]:
        """English sets a comma behind a clause that comes first, and before "but"."""
        main = self.main.english()
        head = root(main)
        if self.other and self.link:
            other = self.other.english()
            other = attach([Word(self.link[0], (self, "link")), *other], root(other))
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
