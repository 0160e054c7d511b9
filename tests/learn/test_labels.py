"""Taggers, classifiers and answerers must really learn what only the context can tell."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import regard

LETTERS = "abcdefgh"
PEOPLE, PLACES = ("mary", "john", "sandra"), ("garden", "kitchen", "office", "hall")
Pair = tuple[str, str]


def neighbours(draw: random.Random) -> Pair:
    """Each letter is tagged with the one before it, and the first with itself."""
    row = [draw.choice(LETTERS) for _ in range(draw.randint(2, 8))]
    return " ".join(row), " ".join(map(str.upper, [row[0], *row[:-1]]))


def majority(draw: random.Random) -> Pair:
    """Which of three letters a line has most of, with a space in the label."""
    while True:
        row = [draw.choice("xyz") for _ in range(draw.randint(3, 9))]
        *_, second, most = sorted("xyz", key=row.count)
        if row.count(most) > row.count(second):
            return " ".join(row), f"more {most}"


def marked(draw: random.Random) -> Pair:
    """The letter after the one star, among many sentences."""
    sentences = [draw.choices(LETTERS, k=draw.randint(1, 4)) for _ in range(draw.randint(1, 5))]
    chosen = draw.randrange(len(sentences))
    sentences[chosen][-1:] = [f"*{sentences[chosen][-1]}"]
    label = sentences[chosen][-1][1:]
    return " ||| ".join(" ".join(each) for each in sentences), label


def story(draw: random.Random) -> Pair:
    """Where somebody is, who may have moved several times."""
    where = dict[str, str]()
    sentences = []
    for _ in range(draw.randint(2, 6)):
        person, place = draw.choice(PEOPLE), draw.choice(PLACES)
        where[person] = place
        sentences.append(f"{person} went to the {place}")
    person = draw.choice(list(where))
    return " ||| ".join([*sentences, f"where is {person}"]), where[person]


def write(path: Path, make: Callable[[random.Random], Pair], count: int, seed: int) -> list[Pair]:
    draw = random.Random(seed)
    pairs = [make(draw) for _ in range(count)]
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return pairs


SMALL = ["tokenizer.kind=word", "tokenizer.sampling=0", "model.dropout=0", "batch.tokens=1024"]
ATTENTION = ["model.layers=2", "model.width=32", "model.inner=64", "model.token_dropout=0"]
CASES = [
    ("tagger", neighbours, ATTENTION),
    ("tagger_conv", neighbours, ["model.layers=1", *ATTENTION[1:]]),
    (
        *("tagger_rnn", neighbours),
        ["model.width=64", "model.letters=16", "model.layers=1", "model.token_dropout=0"],
    ),
    ("classifier", majority, ATTENTION),
    ("hierarchical", marked, ["model.width=32", "model.token_dropout=0", "batch.tokens=2048"]),
    ("entity", story, ["model.width=64", "model.slots=12"]),
]


@pytest.mark.parametrize(("recipe", "make", "settings"), CASES, ids=[case[0] for case in CASES])
def test_labels_are_learned(
    recipe: str, make: Callable[[random.Random], Pair], settings: list[str], tmp_path: Path
) -> None:
    write(tmp_path / "train.tsv", make, 4000, seed=1)
    test = write(tmp_path / "test.tsv", make, 300, seed=2)
    sources = [source for source, _ in test]

    def right(steps: int) -> float:
        run = tmp_path / f"run-{steps}"
        regard.train(
            recipe,
            regard.Parallel(pairs=tmp_path / "train.tsv"),
            run=run,
            steps=steps,
            settings=[*SMALL, *settings],
            quiet=True,
        )
        found = zip(regard.load(run)(sources), test, strict=True)
        return sum(output == target for output, (_, target) in found) / len(test)

    assert right(1) < 0.7
    assert right(600) >= 0.97
