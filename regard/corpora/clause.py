"""Clauses and sentences, and the word order of each language."""

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
from regard.corpora.phrases import Phrase, Predicate, PrepositionalPhrase
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
    """The parts of a clause, before word order.

    `front` is one of the phrases that moves to the front: a relative pronoun or a question word.
    """

    subject: Phrase
    verb: Verb
    tense: Tense = Tense.PRESENT
    modal: Modal | None = None
    negative: bool = False
    question: bool = False
    indirect: Phrase | None = None
    direct: Phrase | None = None
    complement: PrepositionalPhrase | None = None
    location: PrepositionalPhrase | None = None
    predicate: Predicate | None = None
    time: Adverbial | None = None
    time_first: bool = False
    frequency: Rendering | None = None
    front: Phrase | None = None

    def set_argument(self, argument: Argument, phrase: Phrase) -> None:
        """Make a phrase the direct object, indirect object or complement that the verb takes."""
        if argument.german:
            preposition = (argument.english, argument.german)
            self.complement = PrepositionalPhrase(preposition, argument.case, phrase)
        elif argument.case is Case.DATIVE:
            self.indirect = phrase
        else:
            self.direct = phrase

    def english(self) -> list[Word]:
        """Subject, verb, objects, location, time; questions begin with the first verb."""
        finite, *other_verbs = self.english_verbs()
        predicate = self.predicate.english() if self.predicate else []
        parent = [finite, *other_verbs, *predicate][-1]
        frequency = [Word(self.frequency[0], (self, "frequency"))] if self.frequency else []
        subject = [] if self.front is self.subject else self.subject.english(as_object=False)
        words = self.english_time() if self.time_first else []
        if self.front:
            words += self.front.english(as_object=self.front is not self.subject)
        if self.inverted():
            words += [finite, *subject, *frequency, *other_verbs]
        elif other_verbs or self.predicate:
            words += [*subject, finite, *frequency, *other_verbs]
        else:
            words += [*subject, *frequency, finite]
        if self.verb.particle:
            words.append(Word(self.verb.particle, (self, "verb")))
        words += self.english_objects() + predicate
        if self.location:
            words += self.location.english()
        if not self.time_first:
            words += self.english_time()
        return attach(words, parent)

    def inverted(self) -> bool:
        """Whether a verb precedes the subject, as in any question except one about the subject."""
        return self.question and self.front is not self.subject

    def english_objects(self) -> list[Word]:
        """All objects but one that moved to the front."""
        words: list[Word] = []
        for phrase in (self.indirect, self.direct):
            if phrase and phrase is not self.front:
                words += phrase.english(as_object=True)
        return words + (self.complement.english(self.front) if self.complement else [])

    def english_time(self) -> list[Word]:
        """The time expression, whose last word is its head."""
        words = self.time_words(self.time.english) if self.time else []
        return attach(words, words[-1]) if words else words

    def time_words(self, chunks: tuple[tuple[str, ...], ...]) -> list[Word]:
        """The time expression in one language; equal chunks of the two languages are aligned."""
        return [
            Word(text, (self, f"time {index}"))
            for index, chunk in enumerate(chunks)
            for text in chunk
        ]

    def english_verbs(self) -> list[Word]:
        """The finite verb and the verbs that depend on it, with "do" where English needs it."""
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
        """Contract "not" with the first verb; "do" then expresses nothing but the negation."""
        negation, first = (self, "negation"), chain[0]
        if first.text in UNCONTRACTED:
            return [first, Word("not", negation), *chain[1:]]
        nodes = () if first is do else first.nodes
        contracted = Word(CONTRACTED.get(first.text, first.text + "n't"), *nodes, negation)
        return [contracted, *chain[1:]]

    def german_main(self, follows: bool = False) -> list[Word]:
        """Verb second; verb first in a question and after a subordinate clause."""
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

    def german_subordinate(self) -> list[Word]:
        """Verb last, as in relative and other subordinate clauses."""
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
        """Put the relative clause of an object after the verbs."""
        complement = self.complement.phrase if self.complement else None
        for phrase in (self.indirect, self.direct, complement):
            relative = phrase.german_relative() if phrase else []
            if relative:
                return comma(words) + relative
        return words

    def german_subject(self) -> list[Word]:
        """The subject and its relative clause, between commas."""
        words, relative = self.subject.german(Case.NOMINATIVE), self.subject.german_relative()
        return comma(words) + comma(relative) if relative else words

    def german_front(self) -> list[Word]:
        """The phrase that moved to the front, in the case that its role requires."""
        if self.front is None:
            return []
        if self.complement and self.front is self.complement.phrase:
            return self.complement.german()
        cases = {id(self.direct): Case.ACCUSATIVE, id(self.indirect): Case.DATIVE}
        return self.front.german(cases.get(id(self.front), Case.NOMINATIVE))

    def german_time(self) -> list[Word]:
        """The time expression."""
        return self.time_words(self.time.german) if self.time else []

    def german_middle(self) -> list[Word]:
        """The words between the verbs: dative, time, object, nicht, location and the rest.

        A pronoun or a name comes first. In a negated clause, a definite object precedes the time;
        an indefinite one comes last and is negated by kein.
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
        location = self.location.german() if self.location else []
        if target and not target.definite:
            entity = target.german(case, negation if self.negative else None)
            words += [*adverbs, *location, *entity]
        else:
            entity = target.german(case) if target else []
            never = self.frequency and self.frequency[0] == "never"
            early = self.negative or never or (target and target.light)
            words += entity + adverbs if early else adverbs + entity
            words += [Word("nicht", negation)] if self.negative else []
            words += location
        if self.complement and self.complement.phrase is not self.front:
            words += self.complement.german()
        return words + (self.predicate.german() if self.predicate else [])

    def german_verbs(self) -> tuple[Word, list[Word]]:
        """The finite verb, and the verbs or the prefix at the other end of the bracket."""
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
    """A main clause, and optionally a second clause joined by a conjunction."""

    main: Clause
    conjunction: Rendering | None = None
    other: Clause | None = None
    other_first: bool = False
    coordinated: bool = False

    def english(self) -> list[Word]:
        """English puts a comma after a subordinate clause that comes first, and before "but"."""
        main = self.main.english()
        parent = root(main)
        if self.other and self.conjunction:
            other = self.other.english()
            other = attach([Word(self.conjunction[0], (self, "conjunction")), *other], root(other))
            if self.conjunction[0] == "but":
                main = comma(main)
            main = comma(other) + main if self.other_first else main + other
        return attach(main, parent)

    def german(self) -> list[Word]:
        """German puts a comma between any two clauses that are not joined by und."""
        if not self.other or not self.conjunction:
            return self.main.german_main()
        conjunction = Word(self.conjunction[1], (self, "conjunction"))
        if self.coordinated:
            main = self.main.german_main()
            if self.conjunction[1] != "und":
                main = comma(main)
            return [*main, conjunction, *self.other.german_main()]
        if self.other_first:
            return comma([conjunction, *self.other.german_subordinate()]) + self.main.german_main(
                follows=True
            )
        return [*comma(self.main.german_main()), conjunction, *self.other.german_subordinate()]
