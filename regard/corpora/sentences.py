"""The plain sentences: every construction of the grammar but the riddles."""

from __future__ import annotations

import random
from collections.abc import Callable

from regard.corpora.clause import Clause, Sentence
from regard.corpora.drafts import ALL_TENSES, Drafter
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
    Asking,
    Both,
    Name,
    NounPhrase,
    Personal,
    Phrase,
    Predicate,
    Relative,
)

HINDRANCES = [ADJECTIVES[name] for name in ("tired", "sick", "sad", "nervous", "angry", "weak")]
MOTIVES = [ADJECTIVES[name] for name in ("happy", "curious", "sad", "nervous", "angry")]


class Writer:
    """Draws sentences of every construction but the riddles from one stream of chance."""

    def __init__(self, chance: random.Random) -> None:
        """Everything random comes from `chance`."""
        self.chance = chance
        self.draft = Drafter(chance)
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
        """A sentence of a construction drawn by its weight."""
        [construction] = self.chance.choices(list(self.weights), list(self.weights.values()))
        return construction()

    def statement(self) -> Sentence:
        """A main clause; when the time comes first, the German subject follows the verb."""
        clause = self.draft.add_circumstances(self.draft.clause())
        clause.time_first = clause.time is not None and self.draft.likely(0.35)
        return Sentence(clause)

    def question(self) -> Sentence:
        """A question for yes or no."""
        clause = self.draft.clause(denial=0.0, definite=True)
        clause.question = True
        return Sentence(self.draft.add_circumstances(clause))

    def word_question(self) -> Sentence:
        """A question with who, what, which, how many, where, when or why."""
        ask = self.chance.choice([self.ask_who, self.ask_what, self.ask_what, self.ask_adverb])
        clause = ask()
        clause.question = True
        return Sentence(clause)

    def ask_who(self) -> Clause:
        """The subject asks, and so there is no inversion in English."""
        clause = self.draft.clause((Tense.PAST, Tense.PERFECT), denial=0.15, lively=True)
        while "person" not in clause.verb.subjects:
            clause = self.draft.clause((Tense.PAST, Tense.PERFECT), denial=0.15, lively=True)
        clause.subject = clause.front = Personal(WHO)
        return clause

    def ask_what(self) -> Clause:
        """The direct object asks."""
        clause = self.draft.clause(denial=0.0, definite=True, lively=True)
        direct = clause.direct
        while not isinstance(direct, NounPhrase) or direct.noun.kind == "person":
            clause = self.draft.clause(denial=0.0, definite=True, lively=True)
            direct = clause.direct
        which = NounPhrase(direct.noun, WHICH, direct.plural, direct.adjective)
        options: list[Phrase] = [Personal(WHAT), which]
        if not direct.noun.mass:
            options.append(NounPhrase(direct.noun, HOW_MANY, True, direct.adjective))
        clause.direct = clause.front = self.chance.choice(options)
        return clause

    def ask_adverb(self) -> Clause:
        """Where, when or why; English has no perfect with when."""
        clause = self.draft.clause(denial=0.15, definite=True, lively=True)
        adverbs = [("why", "warum")]
        if not clause.negative and clause.tense is not Tense.PERFECT:
            adverbs.append(("when", "wann"))
        if not clause.negative and clause.verb.takes_place:
            adverbs.append(("where", "wo"))
        clause.front = Asking(self.chance.choice(adverbs))
        return clause

    def description(self) -> Sentence:
        """Somebody or something is somehow."""
        kind = self.chance.choice([*KINDS, "person", "person", "animal"])
        negative = self.draft.likely(0.2)
        subject = self.draft.subject((kind,), definite=True)
        if isinstance(subject, NounPhrase):
            subject.adjective = None
        tense = self.chance.choice([Tense.PRESENT, Tense.PAST])
        question = not negative and self.draft.likely(0.2)
        predicate = self.draft.predicate(kind, plain=negative or question)
        return Sentence(
            Clause(subject, BE, tense, negative=negative, predicate=predicate, question=question)
        )

    def subject_relative(self) -> Sentence:
        """The subject has a relative clause."""
        noun = self.chance.choice(nouns_of(("person", "person", "animal", "car", "bus", "train")))
        phrase = self.draft.noun_phrase(noun, [THE, THE, THE, A])
        tenses = [Tense.PRESENT, Tense.PAST]
        if self.draft.likely(0.4) or not verbs_with_subject(noun):
            phrase.adjective = None
            tense = self.chance.choice(tenses)
            clause = Clause(phrase, BE, tense, predicate=self.draft.predicate(noun.kind))
        else:
            verb = self.chance.choice(verbs_with_subject(noun))
            clause = self.draft.finish(Clause(phrase, verb), tenses, fixed=True)
        phrase.relative = self.relative(phrase, clause.tense)
        return Sentence(clause)

    def object_relative(self) -> Sentence:
        """An object has a relative clause, which German sets behind the verbs."""
        target: Phrase | None = None
        while not isinstance(target, NounPhrase) or target.determiner is BARE:
            clause = self.draft.clause(denial=0.1)
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
        pronoun = Relative(phrase)
        subjects, objects = verbs_with_subject(phrase.noun), verbs_with_object(phrase.noun)
        if objects and (self.draft.likely(0.5) or not subjects):
            verb = self.chance.choice(objects)
            subject = self.draft.subject(verb.subjects, definite=True)
            while phrase.noun in subject.nouns():
                subject = self.draft.subject(verb.subjects, definite=True)
            clause = self.draft.finish(Clause(subject, verb), tenses)
            clause.fill(verb.arguments[0], pronoun)
        else:
            verb = self.chance.choice(subjects)
            clause = self.draft.finish(Clause(pronoun, verb), tenses, fixed=True)
        clause.front = pronoun
        if verb.takes_place and self.draft.likely(0.3):
            clause.place = self.draft.place(clause.subject)
        return clause

    def reason(self) -> Sentence:
        """Somebody does something because, since or although they feel somehow.

        What hinders people is a reason against, or they do it all the same; the rest is for it.
        """
        clause = self.draft.clause(denial=0.4, lively=True)
        pronoun = referring_pronoun(clause.subject)
        while not pronoun or clause.verb.involuntary:
            clause = self.draft.clause(denial=0.4, lively=True)
            pronoun = referring_pronoun(clause.subject)
        because = self.chance.choice(causal(clause.tense))
        hinders = clause.negative or self.draft.likely(0.5)
        link = because if hinders == clause.negative else ALTHOUGH
        degrees = [None, *(DEGREES if clause.negative else DEGREES[1:])]
        adjective = self.chance.choice(HINDRANCES if hinders else MOTIVES)
        predicate = Predicate(adjective, self.chance.choice(degrees))
        tense = clause.tense.simple
        other = Clause(pronoun, BE, tense, predicate=predicate)
        first = clause.subject.definite and tense is clause.tense and self.draft.likely(0.4)
        if first:
            clause.subject, other.subject = other.subject, clause.subject
        return Sentence(clause, link, other, other_first=first)

    def temporal(self) -> Sentence:
        """Two things happen, at one time or one before the other."""
        link, tense, other_tense = self.chance.choice(TEMPORAL)
        main = self.draft.clause([tense], denial=0.1, definite=True, lively=True)
        other = self.draft.clause([other_tense], denial=0.0, definite=True, lively=True)
        return Sentence(main, link, other, other_first=self.draft.likely(0.4))

    def report(self) -> Sentence:
        """Somebody knows, says or asks something; the tenses agree as English wants it."""
        tense = self.chance.choice([Tense.PRESENT, Tense.PAST])
        if self.draft.likely(0.65):
            verb, link = self.chance.choice(THAT_VERBS), THAT
        else:
            verb, link = self.chance.choice(WHETHER_VERBS), WHETHER
        negative = link == WHETHER and verb.base == "know"
        subject = self.draft.subject(("person",), definite=True)
        main = self.draft.finish(Clause(subject, verb, negative=negative), [tense])
        tenses = ALL_TENSES if main.tense is Tense.PRESENT else [Tense.PAST]
        denial = 0.15 if link == THAT else 0.0
        other = self.draft.clause(tenses, denial, definite=True)
        return Sentence(main, link, self.draft.add_circumstances(other))

    def coordination(self) -> Sentence:
        """Two main clauses joined by and or but."""
        tense = self.chance.choice([Tense.PRESENT, Tense.PAST])
        link = self.chance.choice([AND, BUT])
        denial = 0.6 if link == BUT else 0.0
        first = self.draft.clause([tense], denial=0.0, definite=True, lively=True)
        second = self.draft.clause([tense], denial=denial, definite=True, lively=True)
        return Sentence(first, link, second, coordinated=True)


def relatable(noun: Noun) -> bool:
    """Whether any verb can say something about the noun."""
    return bool(verbs_with_subject(noun) or verbs_with_object(noun))


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
