"""Long documents and their summaries: what a document says about the person it asks for.

A document begins with a name, and has three facts about each of some people, in any order and in
several wordings: where they live, what they work as and which animal they keep. The summary has
the three facts about the person asked for, in this order. So it follows from the document, and
needs three of some sixty sentences.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from regard.corpora.writing import write_files


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = _words(
    "ada alan amir anna aziz bela boris carla chen clara david diana edgar elena emil farah felix "
    "greta hana henry igor irene ivan jonas julia karim laura leon lina marta milan mira nadia "
    "omar oscar paula petra rosa samir tariq vera yusuf"
)
CITIES = _words(
    "athens berlin bergen boston cairo cork delhi dublin geneva hanoi havana kyoto lagos leeds "
    "lima lisbon lyon madrid malmo nairobi oslo paris porto prague quito riga rome "
    "seoul sofia tunis turin vienna warsaw zagreb"
)
JOBS = _words(
    "baker barber butcher carpenter chemist clerk cook dancer dentist doctor driver "
    "farmer fisher gardener guard hunter judge lawyer mason miner nurse painter pilot plumber poet "
    "porter potter priest sailor singer soldier tailor teacher waiter weaver"
)
ANIMALS = _words(
    "bear camel canary cat cow crab crow dog donkey duck ferret fish fox frog goat goose "
    "hamster hare hen horse lizard mouse mule parrot pig pony rabbit raven sheep snake spider "
    "swan tiger toad turtle wolf"
)
WORDINGS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        (
            "for many years now {name} has lived in {value} .",
            "{name} has a small flat in the middle of {value} .",
            "the letters that {name} receives are sent to {value} .",
        ),
        CITIES,
    ),
    (
        (
            "every day of the week {name} works as a {value} .",
            "{name} has always been glad to be a {value} .",
            "at the age of twenty {name} became a {value} .",
        ),
        JOBS,
    ),
    (
        (
            "in the evening {name} goes out with the {value} .",
            "{name} never leaves the house without feeding the {value} .",
            "the neighbours say that {name} talks to a {value} .",
        ),
        ANIMALS,
    ),
)
"""Of each kind of fact, how it can be said and what its values are."""

SUMMARY = "{name} lives in {} , works as a {} and keeps a {} ."
FEWEST_PEOPLE, MOST_PEOPLE = 18, 24
MAX_PAIRS = 200_000


@dataclass(frozen=True)
class Document:
    """A document and its summary."""

    source: str
    target: str


@dataclass(frozen=True)
class SummariesCorpus:
    """Three splits that have no document in common."""

    train: list[Document]
    valid: list[Document]
    test: list[Document]


def generate(pairs: int, seed: int = 1, held_out: int = 1000) -> SummariesCorpus:
    """Generate a corpus: `pairs` for training, and `held_out` each for validation and test.

    Test and validation are drawn first, so they do not change with the size of the training set.
    """
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    if pairs + 2 * held_out > MAX_PAIRS:
        raise ValueError(f"At most {MAX_PAIRS:,} pairs can be generated, all splits together.")
    test, valid, train = (
        [draw(generator) for _ in range(count)]
        for generator, count in (
            (random.Random(f"{seed} summaries {split}"), count)
            for split, count in (("test", held_out), ("valid", held_out), ("train", pairs))
        )
    )
    return SummariesCorpus(train, valid, test)


def draw(generator: random.Random) -> Document:
    """A document about people who differ in all they are and have."""
    count = generator.randint(FEWEST_PEOPLE, MOST_PEOPLE)
    names = generator.sample(NAMES, count)
    asked = generator.randrange(count)
    facts, answers = [], []
    for wordings, values in WORDINGS:
        chosen = generator.sample(values, count)
        answers.append(chosen[asked])
        facts += [
            generator.choice(wordings).format(name=name, value=value)
            for name, value in zip(names, chosen, strict=True)
        ]
    generator.shuffle(facts)
    source = " ".join([f"about {names[asked]} :", *facts])
    return Document(source, SUMMARY.format(*answers, name=names[asked]))


def write(corpus: SummariesCorpus, folder: Path) -> None:
    """Write train, valid and test, each as a .source and a .target file."""
    splits = (("train", corpus.train), ("valid", corpus.valid), ("test", corpus.test))
    files = {}
    for name, documents in splits:
        files[f"{name}.source"] = [each.source for each in documents]
        files[f"{name}.target"] = [each.target for each in documents]
    write_files(folder, files)
