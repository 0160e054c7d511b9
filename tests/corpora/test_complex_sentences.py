"""Relative, subordinate and coordinated clauses in both languages."""

from __future__ import annotations

from sentence_builder import (
    FUTURE,
    PAST,
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
    with_relative,
)

from regard.corpora.clause import Clause, Sentence
from regard.corpora.lexicon.determiners import A
from regard.corpora.lexicon.verbs import MODALS, THAT_VERBS, WHETHER_VERBS
from regard.corpora.phrases import ReferringPronoun

GUEST = with_relative(noun("guest"), "abholen", noun("package"))
WOMAN = with_relative(noun("woman", A), "helfen", subject=noun("soldier"))
BUS = with_relative(noun("bus"), "warten auf", subject=person("we"))
CHILDREN = with_relative(noun("child", plural=True), "danken", subject=noun("nurse"))
LAKE = with_relative(noun("lake"), "fahren zu", subject=person("they"))
RELATIVES: list[Rendered] = [
    (
        describe(GUEST, "nice", tense=PRESENT),
        "The guest who picked up the package is nice.",
        "Der Gast, der das Paket abholte, ist nett.",
    ),
    (
        clause(person("he"), "sehen", WOMAN, tense=PERFECT),
        "He has seen a woman whom the soldier helped.",
        "Er hat eine Frau gesehen, der der Soldat half.",
    ),
    (
        changed(clause(BUS, "anhalten"), negative=True),
        "The bus that we waited for didn't stop.",
        "Der Bus, auf den wir warteten, hielt nicht an.",
    ),
    (
        clause(person("we"), "kennen", CHILDREN),
        "We knew the children whom the nurse thanked.",
        "Wir kannten die Kinder, denen die Krankenschwester dankte.",
    ),
    (
        clause(person("I"), "schwimmen in", LAKE, tense=PRESENT),
        "I swim in the lake that they drove to.",
        "Ich schwimme in dem See, zu dem sie fuhren.",
    ),
]


@examples(RELATIVES)
def test_relative_clauses(built: Clause, english: str, german: str) -> None:
    """They follow a subject directly, but come after the verbs if they belong to an object."""
    check_rendering(Sentence(built), english, german)


KNOW = Clause(person("I"), THAT_VERBS[0], PRESENT)
ASK = Clause(noun("judge"), WHETHER_VERBS[1], PAST)
SHELF = noun("shelf")
JOINED: list[tuple[Sentence, str, str]] = [
    (
        Sentence(KNOW, ("that", "dass"), clause(noun("ship"), "abfahren", tense=PRESENT)),
        "I know that the ship leaves.",
        "Ich weiß, dass das Schiff abfährt.",
    ),
    (
        Sentence(
            ASK,
            ("whether", "ob"),
            changed(clause(person("she"), "lösen", noun("problem")), modal=MODALS["could"]),
        ),
        "The judge asked whether she could solve the problem.",
        "Der Richter fragte, ob sie das Problem lösen konnte.",
    ),
    (
        Sentence(
            clause(person("they"), "lachen"),
            ("when", "als"),
            clause(person("I"), "aufstehen"),
            other_first=True,
        ),
        "When I got up, they laughed.",
        "Als ich aufstand, lachten sie.",
    ),
    (
        Sentence(
            clause(person("we"), "tanzen", tense=PRESENT),
            ("when", "wenn"),
            clause(noun("musician"), "singen", tense=PRESENT),
        ),
        "We dance when the musician sings.",
        "Wir tanzen, wenn der Musiker singt.",
    ),
    (
        Sentence(
            clause(noun("pilot"), "weinen"),
            ("but", "aber"),
            changed(clause(person("you"), "fragen", person("he"), tense=PERFECT), negative=True),
            coordinated=True,
        ),
        "The pilot cried, but you haven't asked him.",
        "Der Pilot weinte, aber du hast ihn nicht gefragt.",
    ),
    (
        Sentence(
            clause(person("I"), "kochen", noun("soup"), tense=FUTURE),
            ("if", "falls"),
            clause(person("you"), "mitbringen", noun("wine"), tense=PRESENT),
        ),
        "I will cook the soup if you bring along the wine.",
        "Ich werde die Suppe kochen, falls du den Wein mitbringst.",
    ),
    (
        Sentence(
            changed(clause(noun("guitar"), "passen in", noun("bag")), negative=True),
            ("since", "da"),
            describe(ReferringPronoun(noun("guitar")), "big", ("too", "zu")),
        ),
        "The guitar didn't fit into the bag since it was too big.",
        "Die Gitarre passte nicht in die Tasche, da sie zu groß war.",
    ),
    (
        Sentence(
            clause(noun("cat"), "klettern auf", SHELF, tense=PERFECT),
            ("although", "obwohl"),
            describe(ReferringPronoun(SHELF), "high", ("very", "sehr")),
        ),
        "The cat has climbed onto the shelf although it was very high.",
        "Die Katze ist auf das Regal geklettert, obwohl es sehr hoch war.",
    ),
]


@examples(JOINED)
def test_joined_clauses(built: Sentence, english: str, german: str) -> None:
    """A subordinate clause has its verb last, and takes first position if it comes first."""
    check_rendering(built, english, german)
