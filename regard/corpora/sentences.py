"""Plain sentences: every construction of the grammar except riddles."""

from __future__ import annotations

import random
from collections.abc import Callable

from regard.corpora.clause import Clause, Sentence
from regard.corpora.inflection import Noun, Tense
from regard.corpora.lexicon.adjectives import ADJECTIVES, DEGREES
from regard.corpora.lexicon.conjunctions import (
    ALTHOUGH,
    AND,
    BUT,
    TEMPORAL,
    THAT,
    WHETHER,
    causal,
)
from regard.corpora.lexicon.determiners import (
    BARE,
    EVERY,
    HOW_MANY,
    NO,
    POSSESSIVES,
    THE,
    WHICH,
    A,
)
from regard.corpora.lexicon.nouns import KINDS, nouns_of
from regard.corpora.lexicon.persons import MEN, PRONOUNS, WHAT, WHO
from regard.corpora.lexicon.verbs import (
    BE,
    THAT_VERBS,
    WHETHER_VERBS,
    verbs_with_object,
    verbs_with_subject,
)
from regard.corpora.phrases import (
    Coordination,
    Name,
    NounPhrase,
    PersonalPronoun,
    Phrase,
    Predicate,
    QuestionAdverb,
    RelativePronoun,
)
from regard.corpora.sampling import ALL_TENSES, ClauseSampler

HINDRANCES = [ADJECTIVES[name] for name in ("tired", "sick", "sad", "nervous", "angry", "weak")]
MOTIVES = [ADJECTIVES[name] for name in ("happy", "curious", "sad", "nervous", "angry")]


class SentenceSampler:
    """Draws sentences of every construction except riddles from one random generator."""

    def __init__(self, generator: random.Random) -> None:
        """All random choices come from `generator`."""
        self.generator = generator
        self.clauses = ClauseSampler(generator)
        self.weights: dict[Callable[[], Sentence], int] = {
            self.statement: 34,
            self.question: 8,
            self.word_question: 9,
            self.description: 9,
            self.subject_relative: 8,
            self.object_relative: 8,
            self.reason: 9,
            self.temporal: 8,
            self.report: 7,
            self.coordination: 4,
        }

    def sentence(self) -> Sentence:
        """A sentence whose construction is drawn by weight."""
        [construction] = self.generator.choices(list(self.weights), list(self.weights.values()))
        return construction()

    def statement(self) -> Sentence:
        """A main clause; if it begins with a time, the German subject follows the verb."""
        clause = self.clauses.add_circumstances(self.clauses.clause())
        clause.time_first = clause.time is not None and self.clauses.likely(0.35)
        return Sentence(clause)

    def question(self) -> Sentence:
        """A yes/no question."""
        clause = self.clauses.clause(negated=0.0, definite=True)
        clause.question = True
        return Sentence(self.clauses.add_circumstances(clause))

    def word_question(self) -> Sentence:
        """A question with who, what, which, how many, where, when or why."""
        ask = self.generator.choice([self.ask_who, self.ask_what, self.ask_what, self.ask_adverb])
        clause = ask()
        clause.question = True
        return Sentence(clause)

    def ask_who(self) -> Clause:
        """A question about the subject, without inversion in English."""
        clause = self.clauses.clause((Tense.PAST, Tense.PERFECT), negated=0.15, dynamic=True)
        while "person" not in clause.verb.subjects:
            clause = self.clauses.clause((Tense.PAST, Tense.PERFECT), negated=0.15, dynamic=True)
        clause.subject = clause.front = PersonalPronoun(WHO)
        return clause

    def ask_what(self) -> Clause:
        """A question about the direct object."""
        clause = self.clauses.clause(negated=0.0, definite=True, dynamic=True)
        direct = clause.direct
        while not isinstance(direct, NounPhrase) or direct.noun.kind == "person":
            clause = self.clauses.clause(negated=0.0, definite=True, dynamic=True)
            direct = clause.direct
        which = NounPhrase(direct.noun, WHICH, direct.plural, direct.adjective)
        options: list[Phrase] = [PersonalPronoun(WHAT), which]
        if not direct.noun.mass:
            options.append(NounPhrase(direct.noun, HOW_MANY, True, direct.adjective))
        clause.direct = clause.front = self.generator.choice(options)
        return clause

    def ask_adverb(self) -> Clause:
        """Where, when or why; English does not combine "when" with the perfect."""
        clause = self.clauses.clause(negated=0.15, definite=True, dynamic=True)
        adverbs = [("why", "warum")]
        if not clause.negative and clause.tense is not Tense.PERFECT:
            adverbs.append(("when", "wann"))
        if not clause.negative and clause.verb.takes_location:
            adverbs.append(("where", "wo"))
        clause.front = QuestionAdverb(self.generator.choice(adverbs))
        return clause

    def description(self) -> Sentence:
        """A subject, "to be" and an adjective."""
        kind = self.generator.choice([*KINDS, "person", "person", "animal"])
        negative = self.clauses.likely(0.2)
        subject = self.clauses.subject((kind,), definite=True)
        if isinstance(subject, NounPhrase):
            subject.adjective = None
        tense = self.generator.choice([Tense.PRESENT, Tense.PAST])
        question = not negative and self.clauses.likely(0.2)
        predicate = self.clauses.predicate(kind, plain=negative or question)
        return Sentence(
            Clause(subject, BE, tense, negative=negative, predicate=predicate, question=question)
        )

    def subject_relative(self) -> Sentence:
        """The subject has a relative clause."""
        noun = self.generator.choice(
            nouns_of(("person", "person", "animal", "car", "bus", "train"))
        )
        phrase = self.clauses.noun_phrase(noun, [THE, THE, THE, A])
        tenses = [Tense.PRESENT, Tense.PAST]
        if self.clauses.likely(0.4) or not verbs_with_subject(noun):
            phrase.adjective = None
            tense = self.generator.choice(tenses)
            clause = Clause(phrase, BE, tense, predicate=self.clauses.predicate(noun.kind))
        else:
            verb = self.generator.choice(verbs_with_subject(noun))
            clause = self.clauses.complete(Clause(phrase, verb), tenses, fixed=True)
        phrase.relative = self.relative(phrase, clause.tense)
        return Sentence(clause)

    def object_relative(self) -> Sentence:
        """An object has a relative clause, which German puts after the verbs."""
        target: Phrase | None = None
        while not isinstance(target, NounPhrase) or target.determiner is BARE:
            clause = self.clauses.clause(negated=0.1)
            target = clause.direct or (clause.complement.phrase if clause.complement else None)
            if isinstance(target, NounPhrase) and not relatable(target.noun):
                target = None
        if target.determiner in POSSESSIVES:
            target.determiner = THE
        target.relative = self.relative(target, clause.tense)
        return Sentence(clause)

    def relative(self, phrase: NounPhrase, main: Tense) -> Clause:
        """A relative clause in which the noun is the subject or the object."""
        tenses = [Tense.PAST]
        if main.simple is Tense.PRESENT:
            tenses += [Tense.PRESENT, Tense.PERFECT]
        pronoun = RelativePronoun(phrase)
        subjects, objects = verbs_with_subject(phrase.noun), verbs_with_object(phrase.noun)
        if objects and (self.clauses.likely(0.5) or not subjects):
            verb = self.generator.choice(objects)
            subject = self.clauses.subject(verb.subjects, definite=True)
            while phrase.noun in subject.nouns():
                subject = self.clauses.subject(verb.subjects, definite=True)
            clause = self.clauses.complete(Clause(subject, verb), tenses)
            clause.set_argument(verb.arguments[0], pronoun)
        else:
            verb = self.generator.choice(subjects)
            clause = self.clauses.complete(Clause(pronoun, verb), tenses, fixed=True)
        clause.front = pronoun
        if verb.takes_location and self.clauses.likely(0.3):
            clause.location = self.clauses.location(clause.subject)
        return clause

    def reason(self) -> Sentence:
        """Somebody does something because, since or although they are tired, happy, ...

        A hindrance explains a negated clause and contrasts with a positive one; a motive does the
        opposite.
        """
        clause = self.clauses.clause(negated=0.4, dynamic=True)
        pronoun = referring_pronoun(clause.subject)
        while not pronoun or clause.verb.involuntary:
            clause = self.clauses.clause(negated=0.4, dynamic=True)
            pronoun = referring_pronoun(clause.subject)
        because = self.generator.choice(causal(clause.tense))
        hinders = clause.negative or self.clauses.likely(0.5)
        conjunction = because if hinders == clause.negative else ALTHOUGH
        degrees = [None, *(DEGREES if clause.negative else DEGREES[1:])]
        adjective = self.generator.choice(HINDRANCES if hinders else MOTIVES)
        predicate = Predicate(adjective, self.generator.choice(degrees))
        tense = clause.tense.simple
        other = Clause(pronoun, BE, tense, predicate=predicate)
        first = clause.subject.definite and tense is clause.tense and self.clauses.likely(0.4)
        if first:
            clause.subject, other.subject = other.subject, clause.subject
        return Sentence(clause, conjunction, other, other_first=first)

    def temporal(self) -> Sentence:
        """Two events, simultaneous or one before the other."""
        conjunction, tense, other_tense = self.generator.choice(TEMPORAL)
        main = self.clauses.clause([tense], negated=0.1, definite=True, dynamic=True)
        other = self.clauses.clause([other_tense], negated=0.0, definite=True, dynamic=True)
        return Sentence(main, conjunction, other, other_first=self.clauses.likely(0.4))

    def report(self) -> Sentence:
        """Somebody knows, says or asks something; the tenses agree as in English."""
        tense = self.generator.choice([Tense.PRESENT, Tense.PAST])
        if self.clauses.likely(0.65):
            verb, conjunction = self.generator.choice(THAT_VERBS), THAT
        else:
            verb, conjunction = self.generator.choice(WHETHER_VERBS), WHETHER
        negative = conjunction == WHETHER and verb.base == "know"
        subject = self.clauses.subject(("person",), definite=True)
        main = self.clauses.complete(Clause(subject, verb, negative=negative), [tense])
        tenses = ALL_TENSES if main.tense is Tense.PRESENT else [Tense.PAST]
        negated = 0.15 if conjunction == THAT else 0.0
        other = self.clauses.clause(tenses, negated, definite=True)
        return Sentence(main, conjunction, self.clauses.add_circumstances(other))

    def coordination(self) -> Sentence:
        """Two main clauses joined by and or but."""
        tense = self.generator.choice([Tense.PRESENT, Tense.PAST])
        conjunction = self.generator.choice([AND, BUT])
        negated = 0.6 if conjunction == BUT else 0.0
        first = self.clauses.clause([tense], negated=0.0, definite=True, dynamic=True)
        second = self.clauses.clause([tense], negated=negated, definite=True, dynamic=True)
        return Sentence(first, conjunction, second, coordinated=True)


def relatable(noun: Noun) -> bool:
    """Whether any verb takes the noun as its subject or object."""
    return bool(verbs_with_subject(noun) or verbs_with_object(noun))


def referring_pronoun(phrase: Phrase) -> PersonalPronoun | None:
    """The pronoun that refers to a person, or None where either language would be ambiguous."""
    if isinstance(phrase, PersonalPronoun):
        return PersonalPronoun(phrase.pronoun)
    if isinstance(phrase, Coordination):
        return PersonalPronoun(PRONOUNS["they"])
    if isinstance(phrase, Name):
        return PersonalPronoun(PRONOUNS["he" if phrase.name in MEN else "she"])
    if not isinstance(phrase, NounPhrase) or phrase.noun.kind != "person":
        return None
    if phrase.determiner in (NO, EVERY) or (phrase.noun.gender == "n" and not phrase.plural):
        return None
    singular = "he" if phrase.noun.gender == "m" else "she"
    return PersonalPronoun(PRONOUNS["they" if phrase.plural else singular])
