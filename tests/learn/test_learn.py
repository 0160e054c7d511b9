"""Every architecture must really learn: reversing a line, from text files to translations."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import regard
import regard.predict
from regard.corpora import algorithms
from regard.models import Architecture

LETTERS = "abcdefghijklmnop"
ALL = [member.model_fields["kind"].default for member in get_args(get_args(Architecture)[0])]
OTHERS = (
    *("language", "tagger", "classifier", "hierarchical", "entity"),
    *("pointer", "spatial"),
)
KINDS = [kind for kind in ALL if kind not in OTHERS]  # these have tests of their own
WHOLE = ["model.kernel=17", "model.cycle=1", "model.stretch=1", "model.extra=0"]
"""Each convolution sees a whole line, and no place after it."""
TWO_LAYERS = ("layers=2", "width=64", "inner=128", "dropout=0")
SMALL = {
    "transformer": ("tiny", [f"model.{size}" for size in TWO_LAYERS]),
    "recurrent": ("lstm_attention", ["model.width=96", "model.dropout=0"]),
    "convolutional": ("conv", ["model.layers=2", "model.width=64", "model.dropout=0"]),
    "bytenet": ("bytenet", ["model.layers=3", "model.width=192", "model.dropout=0", *WHOLE]),
    "turing": ("turing", ["model.slots=12"]),
    "ensemble": ("ensemble", [f"model.member.{size}" for size in TWO_LAYERS]),
    "nonautoregressive": (
        "nonautoregressive",
        [f"model.{size}" for size in (*TWO_LAYERS, "token_dropout=0", "remove_repeats=false")],
    ),
}
"""A recipe of each family, and settings for a quick one."""


def write(
    folder: Path, name: str, count: int, seed: int, longest: int = 8
) -> tuple[list[str], list[str]]:
    """Lines of 2 to so many letters, and the same backwards."""
    draw = random.Random(seed)
    rows = [[draw.choice(LETTERS) for _ in range(draw.randint(2, longest))] for _ in range(count)]
    sources = [" ".join(row) for row in rows]
    targets = [" ".join(reversed(row)) for row in rows]
    (folder / f"{name}.source").write_text("\n".join(sources) + "\n")
    (folder / f"{name}.target").write_text("\n".join(targets) + "\n")
    links = [" ".join(f"{i}-{len(row) - 1 - i}" for i in range(len(row))) for row in rows]
    (folder / f"{name}.links").write_text("\n".join(links) + "\n")
    return sources, targets


def right(translate: regard.predict.Predictor, sources: list[str], targets: list[str]) -> float:
    pairs = zip(translate(sources), targets, strict=True)
    return sum(found == target for found, target in pairs) / len(targets)


@pytest.mark.parametrize("kind", KINDS)
def test_reversing_a_line_is_learned(kind: str, tmp_path: Path) -> None:
    recipe, sizes = SMALL[kind]
    write(tmp_path, "train", 20_000, seed=1)
    sources, targets = write(tmp_path, "test", 500, seed=2)
    settings = ["tokenizer.kind=word", "batch.tokens=2048", *sizes]
    data = regard.Parallel(tmp_path / "train.source", tmp_path / "train.target")
    if kind == "nonautoregressive":
        data = replace(data, alignments=tmp_path / "train.links")

    def train(run: str, steps: int) -> regard.predict.Predictor:
        regard.train(recipe, data, run=tmp_path / run, steps=steps, settings=settings, quiet=True)
        return regard.load(tmp_path / run)

    assert right(train("untrained", 1), sources, targets) < 0.05
    assert right(train("trained", 1200), sources, targets) >= 0.99


def test_a_machine_copies_lines_four_times_as_long_as_it_has_read(tmp_path: Path) -> None:
    """It has learned to copy, not lines: trained on up to 10 symbols, tested on 40."""

    def lines(name: str, count: int, shortest: int, longest: int) -> regard.Parallel:
        draw = random.Random(name)
        rows = [draw.choices(LETTERS, k=draw.randint(shortest, longest)) for _ in range(count)]
        path = tmp_path / name
        path.write_text("".join(" ".join(row) + "\n" for row in rows))
        return regard.Parallel(path, path)

    regard.train(
        "turing",
        lines("train", 10_000, 1, 10),
        run=tmp_path / "run",
        steps=500,
        settings=["model.slots=48"],
        quiet=True,
    )
    long = regard.evaluate(tmp_path / "run", lines("long", 50, 40, 40))
    assert long["symbol error"] < 1


def test_a_machine_recalls_what_followed_among_more_items_than_it_has_read(tmp_path: Path) -> None:
    """Trained on up to 6 items, tested on 10."""
    algorithms.write(algorithms.generate("associative_recall", 10_000, held_out=100), tmp_path)

    def part(name: str) -> regard.Parallel:
        return regard.Parallel(tmp_path / f"{name}.source", tmp_path / f"{name}.target")

    regard.train(
        "turing",
        part("train"),
        run=tmp_path / "run",
        steps=300,
        settings=["model.lookup=true", "model.slots=64", "batch.tokens=512"],
        quiet=True,
    )
    assert regard.evaluate(tmp_path / "run", part("test.10"))["symbol error"] < 1


def test_one_fixed_vector_loses_long_lines_and_attention_does_not(tmp_path: Path) -> None:
    """The same LSTM, trained for as long on the same lines of 2 to 20 letters."""
    write(tmp_path, "train", 20_000, seed=1, longest=20)
    sources, targets = write(tmp_path, "test", 1_000, seed=2, longest=20)
    lengths = [len(line.split()) for line in sources]

    def train(attention: str) -> tuple[float, float]:
        regard.train(
            "lstm_attention",
            regard.Parallel(tmp_path / "train.source", tmp_path / "train.target"),
            run=tmp_path / attention,
            steps=1200,
            settings=[
                "tokenizer.kind=word",
                "model.dropout=0",
                "model.width=96",
                "batch.tokens=2048",
                f"model.attention={attention}",
            ],
            quiet=True,
        )
        translate = regard.load(tmp_path / attention)
        short = [number for number, length in enumerate(lengths) if length <= 5]
        long = [number for number, length in enumerate(lengths) if length >= 15]
        return (
            right(translate, [sources[n] for n in short], [targets[n] for n in short]),
            right(translate, [sources[n] for n in long], [targets[n] for n in long]),
        )

    short, long = train("before")
    assert short >= 0.98
    assert long >= 0.9
    short_by_vector, long_by_vector = train("none")
    assert short_by_vector >= 0.9
    assert long_by_vector < 0.6


@pytest.mark.parametrize(
    ("recipe", "settings", "remembered"),
    [
        ("language", ["model.layers=2", "model.width=64", "model.inner=128"], 8),
        ("language_rnn", ["model.layers=1", "training.optimizer.rate=6e-3"], 6),
    ],
)
def test_a_language_model_learns_all_that_can_be_known(
    recipe: str, settings: list[str], remembered: int, tmp_path: Path
) -> None:
    """A line is 2 to 8 letters, a mark, and the same backwards: the second half is certain.

    Of an LSTM, whose memory has one size, only lines of up to 6 letters are held to be right.
    """

    def lines(name: str, count: int, seed: int) -> tuple[list[str], list[str]]:
        firsts, seconds = write(tmp_path, name, count, seed)
        wholes = [f"{one} = {two}" for one, two in zip(firsts, seconds, strict=True)]
        (tmp_path / name).write_text("\n".join(wholes) + "\n")
        return [f"{one} =" for one in firsts], wholes

    lines("train", 20_000, seed=1)
    begun, wholes = lines("test", 500, seed=2)
    short = [number for number, line in enumerate(begun) if len(line.split()) <= remembered + 1]
    chosen = ["tokenizer.kind=word", "model.dropout=0", "batch.tokens=2048", *settings]

    def train(run: str, steps: int) -> regard.predict.Predictor:
        data, folder = regard.Parallel(target=tmp_path / "train"), tmp_path / run
        regard.train(recipe, data, run=folder, steps=steps, settings=chosen, quiet=True)
        return regard.load(folder)

    asked, answers = [begun[i] for i in short], [wholes[i] for i in short]
    assert right(train("untrained", 1), asked, answers) < 0.05
    assert right(train("trained", 1200), asked, answers) >= 0.99
    letters = [len(line.split()) // 2 for line in wholes]
    known = sum(math.log(7) + count * math.log(len(LETTERS)) for count in letters)
    least = math.exp(known / sum(2 * count + 2 for count in letters))
    test = regard.Parallel(target=tmp_path / "test")
    found = regard.evaluate(tmp_path / "trained", test)["perplexity"]
    assert 0.99 * least < found < 1.05 * least
