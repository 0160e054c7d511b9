"""Long documents and their summaries: what a document says about the person it asks for.

A document begins with a name, and has three facts about each of some people, in any order and in
several wordings: where they live, what they work as and which animal they keep. The summary has
the three facts about the person asked for, in this order. So it follows from the document, and
needs three sentences, out of six to a hundred.

Training documents have 2 to 24 people, and there is one test set per number of people.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from regard.corpora.algorithms import Example


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
            "the house that belongs to {name} stands in {value} .",
            "letters that are meant for {name} go to {value} .",
        ),
        CITIES,
    ),
    (
        (
            "every day of the week {name} works as a {value} .",
            "if you ask around , {name} is a {value} .",
            "at the age of twenty {name} became a {value} .",
        ),
        JOBS,
    ),
    (
        (
            "late in the evening {name} feeds the {value} .",
            "in all kinds of weather {name} walks the {value} .",
            "the neighbours say that {name} talks to a {value} .",
        ),
        ANIMALS,
    ),
)
"""Of each kind of fact, how it can be said and what its values are."""

SUMMARY = "{name} lives in {} , works as a {} and keeps a {} ."
FEWEST_PEOPLE, MOST_PEOPLE = 2, 24
TESTS = (6, 12, 24, 34)
"""People in the documents of each test set; with 34, documents are longer than any in training."""

MAX_PAIRS = 200_000


def generate(pairs: int, seed: int = 1, held_out: int = 500) -> Mapping[str, list[Example]]:
    """The splits by name: train, valid, and one test set per number of people, such as test.24.

    Each split is drawn on its own, so the others do not change with the size of the training set.
    """
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    if pairs > MAX_PAIRS:
        raise ValueError(f"At most {MAX_PAIRS:,} pairs can be generated.")

    def split(part: str, count: int, fewest: int, most: int) -> list[Example]:
        generator = random.Random(f"{seed} summaries {part}")
        sizes = (draw_size(generator, fewest, most) for _ in range(count))
        return [draw(generator, people) for people in sizes]

    tests = {
        f"test.{people}": split(f"test.{people}", held_out, people, people) for people in TESTS
    }
    return {
        "train": split("train", pairs, FEWEST_PEOPLE, MOST_PEOPLE),
        "valid": split("valid", held_out, FEWEST_PEOPLE, MOST_PEOPLE),
        **tests,
    }


def draw_size(generator: random.Random, fewest: int, most: int) -> int:
    """How many people a document is about: n of them with a probability of about 1 / n^3.

    Half of all words in training are then in documents of 2 or 3 people. A model finds out on these
    whose facts it has to look for, and needs few of the longer ones to do the same there.
    """
    first, end = fewest**-2, (most + 1) ** -2
    drawn = (first - (first - end) * generator.random()) ** -0.5
    return min(most, max(fewest, int(drawn)))


def draw_names(generator: random.Random, count: int) -> list[str]:
    """Different names, of which a few are frequent and most are rare, as in life: the k-th of all
    with a weight of k^-1.5 (drawn as by Efraimidis and Spirakis 2006).

    On the frequent ones a model learns to look for a name at all. With equally frequent names it
    stays at guessing for long (docs/lab/summaries.md).
    """
    keys = {name: generator.random() ** ((k + 1) ** 1.5) for k, name in enumerate(NAMES)}
    names = sorted(NAMES, key=lambda name: -keys[name])[:count]
    generator.shuffle(names)
    return names


def draw(generator: random.Random, count: int) -> Example:
    """A document about people who differ in all they are and have, and its summary."""
    names = draw_names(generator, count)
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
    return source, SUMMARY.format(*answers, name=names[asked])
