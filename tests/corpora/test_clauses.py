"""Single clauses in both languages: endings, verbs, word order, negation, questions."""

from __future__ import annotations

from sentence_builder import (
    FUTURE,
    PERFECT,
    PRESENT,
    Rendered,
    changed,
    check_rendering,
    clause,
    describe,
    examples,
    noun,
    person,
)

from regard.corpora.clause import Clause, Sentence
from regard.corpora.grammar import realise
from regard.corpora.inflection import Case
from regard.corpora.lexicon.determiners import (
    ALL,
    BARE,
    EVERY,
    HOW_MANY,
    MANY,
    NO,
    NUMBERS,
    POSSESSIVES,
    THIS,
    WHICH,
    A,
)
from regard.corpora.lexicon.persons import WHAT, WHO
from regard.corpora.lexicon.verbs import MODALS
from regard.corpora.phrases import (
    Coordination,
    Name,
    PersonalPronoun,
    PrepositionalPhrase,
    QuestionAdverb,
)

MY, YOUR, HIS, HER, OUR, THEIR = POSSESSIVES
TWO = NUMBERS[0]

ENDINGS: list[Rendered] = [
    (
        clause(noun("man"), "kaufen", noun("car", A, adjective="big")),
        "The man bought a big car.",
        "Der Mann kaufte ein großes Auto.",
    ),
    (
        clause(noun("boy"), "helfen", noun("neighbor"), tense=PRESENT),
        "The boy helps the neighbor.",
        "Der Junge hilft dem Nachbarn.",
    ),
    (
        clause(noun("dog", A, adjective="small"), "folgen", noun("child", plural=True)),
        "A small dog followed the children.",
        "Ein kleiner Hund folgte den Kindern.",
    ),
    (
        clause(noun("cat", THIS, True, "black"), "folgen", noun("bear", adjective="old")),
        "These black cats followed the old bear.",
        "Diese schwarzen Katzen folgten dem alten Bären.",
    ),
    (
        clause(noun("woman", EVERY, adjective="young"), "kennen", noun("city"), tense=PRESENT),
        "Every young woman knows the city.",
        "Jede junge Frau kennt die Stadt.",
    ),
    (
        clause(noun("student", NO, adjective="lazy"), "verstehen", noun("question"), tense=PRESENT),
        "No lazy student understands the question.",
        "Kein fauler Student versteht die Frage.",
    ),
    (
        clause(noun("guest", ALL, True, "polite"), "danken", noun("queen")),
        "All polite guests thanked the queen.",
        "Alle höflichen Gäste dankten der Königin.",
    ),
    (
        clause(
            noun("farmer", MANY, True, "old"), "besitzen", noun("horse", TWO, True, "beautiful")
        ),
        "Many old farmers owned two beautiful horses.",
        "Viele alte Bauern besaßen zwei schöne Pferde.",
    ),
    (
        clause(person("I"), "trinken", noun("coffee", BARE, adjective="hot"), tense=PRESENT),
        "I drink hot coffee.",
        "Ich trinke heißen Kaffee.",
    ),
    (
        clause(person("you"), "essen", noun("apple", MY, True, "expensive"), tense=PRESENT),
        "You eat my expensive apples.",
        "Du isst meine teuren Äpfel.",
    ),
]


@examples(ENDINGS)
def test_cases_and_endings(built: Clause, english: str, german: str) -> None:
    check_rendering(Sentence(built), english, german)


VERBS_IN_BRACKETS: list[Rendered] = [
    (
        clause(noun("train"), "ankommen", tense=PERFECT),
        "The train has arrived.",
        "Der Zug ist angekommen.",
    ),
    (
        clause(Name("Anna"), "anrufen", noun("doctor", HER)),
        "Anna called her doctor.",
        "Anna rief ihren Arzt an.",
    ),
    (
        clause(noun("friend", MY), "warten auf", noun("bus"), tense=FUTURE),
        "My friend will wait for the bus.",
        "Mein Freund wird auf den Bus warten.",
    ),
    (
        changed(
            clause(noun("teacher"), "reparieren", noun("radio", HIS), tense=PRESENT),
            modal=MODALS["want"],
            negative=True,
        ),
        "The teacher doesn't want to repair his radio.",
        "Der Lehrer will sein Radio nicht reparieren.",
    ),
    (
        changed(
            clause(person("you"), "aufräumen", noun("room", YOUR), tense=PRESENT),
            modal=MODALS["must"],
        ),
        "You must tidy up your room.",
        "Du musst dein Zimmer aufräumen.",
    ),
    (
        changed(
            clause(Coordination(noun("king"), noun("queen")), "schlafen"),
            modal=MODALS["could"],
            negative=True,
        ),
        "The king and the queen couldn't sleep.",
        "Der König und die Königin konnten nicht schlafen.",
    ),
]


@examples(VERBS_IN_BRACKETS)
def test_verbal_brackets(built: Clause, english: str, german: str) -> None:
    """Separable prefixes, participles and infinitives come last."""
    check_rendering(Sentence(built), english, german)


GARDEN = PrepositionalPhrase(("in", "in"), Case.DATIVE, noun("garden"))
HOUSE = PrepositionalPhrase(("in front of", "vor"), Case.DATIVE, noun("house", A, adjective="old"))
MIDDLES: list[Rendered] = [
    (
        clause(person("she"), "geben", noun("child"), noun("book", A)),
        "She gave the child a book.",
        "Sie gab dem Kind ein Buch.",
    ),
    (
        changed(
            clause(person("we"), "schicken", person("they"), noun("letter", OUR)),
            time="yesterday",
        ),
        "We sent them our letter yesterday.",
        "Wir schickten ihnen gestern unseren Brief.",
    ),
    (
        changed(
            clause(noun("child", plural=True), "spielen"),
            location=GARDEN,
            time="yesterday",
            time_first=True,
        ),
        "Yesterday the children played in the garden.",
        "Gestern spielten die Kinder im Garten.",
    ),
    (
        changed(
            clause(noun("woman"), "lesen", noun("letter", A)),
            location=HOUSE,
            time="in the evening",
        ),
        "The woman read a letter in front of an old house in the evening.",
        "Die Frau las am Abend vor einem alten Haus einen Brief.",
    ),
    (
        changed(
            clause(person("she"), "gehen zu", noun("school"), tense=PRESENT),
            time="every morning",
        ),
        "She goes to the school every morning.",
        "Sie geht jeden Morgen zur Schule.",
    ),
    (
        clause(noun("dog", plural=True), "rennen in", noun("house")),
        "The dogs ran into the house.",
        "Die Hunde rannten ins Haus.",
    ),
    (
        changed(
            clause(Name("Peter"), "besuchen", noun("aunt", HIS), tense=PERFECT),
            frequency=("never", "nie"),
        ),
        "Peter has never visited his aunt.",
        "Peter hat seine Tante nie besucht.",
    ),
]


@examples(MIDDLES)
def test_order_of_the_middle_field(built: Clause, english: str, german: str) -> None:
    check_rendering(Sentence(built), english, german)


NEGATIONS: list[Rendered] = [
    (
        changed(clause(noun("man"), "kaufen", noun("car")), negative=True, time="yesterday"),
        "The man didn't buy the car yesterday.",
        "Der Mann kaufte das Auto gestern nicht.",
    ),
    (
        changed(clause(noun("girl"), "lesen", noun("book", A), tense=PERFECT), negative=True),
        "The girl hasn't read a book.",
        "Das Mädchen hat kein Buch gelesen.",
    ),
    (
        changed(clause(person("he"), "trinken", noun("milk", BARE), tense=PRESENT), negative=True),
        "He doesn't drink milk.",
        "Er trinkt keine Milch.",
    ),
    (
        changed(clause(person("they"), "einschalten", noun("lamp")), negative=True),
        "They didn't turn on the lamp.",
        "Sie schalteten die Lampe nicht ein.",
    ),
    (
        changed(
            clause(person("I"), "sehen", person("he"), tense=PERFECT),
            time="today",
            negative=True,
        ),
        "I haven't seen him today.",
        "Ich habe ihn heute nicht gesehen.",
    ),
    (
        changed(clause(noun("woman"), "legen auf", noun("key"), noun("table")), negative=True),
        "The woman didn't put the key on the table.",
        "Die Frau legte den Schlüssel nicht auf den Tisch.",
    ),
]


@examples(NEGATIONS)
def test_negation(built: Clause, english: str, german: str) -> None:
    """Nicht, or kein with an indefinite object."""
    check_rendering(Sentence(built), english, german)


DESCRIPTIONS: list[Rendered] = [
    (
        describe(person("I"), "tired", ("very", "sehr"), PRESENT),
        "I am very tired.",
        "Ich bin sehr müde.",
    ),
    (
        changed(describe(person("I"), "hungry", tense=PRESENT), negative=True),
        "I am not hungry.",
        "Ich bin nicht hungrig.",
    ),
]


@examples(DESCRIPTIONS)
def test_descriptions(built: Clause, english: str, german: str) -> None:
    check_rendering(Sentence(built), english, german)


WHO_ASKS, WHAT_ASKS, WHY = (
    PersonalPronoun(WHO),
    PersonalPronoun(WHAT),
    QuestionAdverb(("why", "warum")),
)
WHICH_COAT = noun("coat", WHICH, adjective="new")
HOW_MANY_BOOKS = noun("book", HOW_MANY, True)
QUESTIONS: list[Rendered] = [
    (
        changed(clause(noun("man"), "verkaufen", noun("house")), question=True),
        "Did the man sell the house?",
        "Verkaufte der Mann das Haus?",
    ),
    (
        changed(clause(person("you"), "einladen", noun("colleague"), tense=PERFECT), question=True),
        "Have you invited the colleague?",
        "Hast du den Kollegen eingeladen?",
    ),
    (
        changed(clause(WHO_ASKS, "essen", noun("cake")), question=True, front=WHO_ASKS),
        "Who ate the cake?",
        "Wer aß den Kuchen?",
    ),
    (
        changed(
            clause(noun("sister", YOUR), "suchen", WHAT_ASKS, tense=PRESENT),
            question=True,
            front=WHAT_ASKS,
        ),
        "What does your sister look for?",
        "Was sucht deine Schwester?",
    ),
    (
        changed(clause(person("she"), "anprobieren", WHICH_COAT), question=True, front=WHICH_COAT),
        "Which new coat did she try on?",
        "Welchen neuen Mantel probierte sie an?",
    ),
    (
        changed(
            clause(person("they"), "lesen", HOW_MANY_BOOKS, tense=PERFECT),
            question=True,
            front=HOW_MANY_BOOKS,
        ),
        "How many books have they read?",
        "Wie viele Bücher haben sie gelesen?",
    ),
    (
        changed(
            clause(noun("boy"), "zuhören", noun("teacher")),
            question=True,
            front=WHY,
            negative=True,
        ),
        "Why didn't the boy listen to the teacher?",
        "Warum hörte der Junge dem Lehrer nicht zu?",
    ),
]


@examples(QUESTIONS)
def test_questions(built: Clause, english: str, german: str) -> None:
    """Yes/no questions, and question words in every role."""
    check_rendering(Sentence(built), english, german)


def test_alignment_follows_the_bracket() -> None:
    sentence = Sentence(
        changed(clause(Name("Anna"), "anrufen", noun("doctor", HER)), negative=True)
    )
    example = realise(sentence)
    assert example.source == "Anna didn't call her doctor."
    assert example.target == "Anna rief ihren Arzt nicht an."
    assert example.alignment == ((0, 0), (1, 4), (2, 1), (2, 5), (3, 2), (4, 3))
    assert example.tree == (3, 3, 0, 5, 3)


def test_contraction_is_aligned_with_both_words() -> None:
    example = realise(Sentence(clause(noun("girl"), "rennen in", noun("garden"))))
    assert example.target == "Das Mädchen rannte in den Garten."
    example = realise(Sentence(clause(noun("girl"), "rennen in", noun("room"))))
    assert example.target == "Das Mädchen rannte ins Zimmer."
    assert {(3, 3), (4, 3)} <= set(example.alignment)
