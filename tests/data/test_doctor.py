"""The doctor warns of what is suspicious and refuses swapped files, without false alarm."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

import pytest

from regard.data.doctor import Overlap, Profile, examine, refuse_swapped
from regard.data.line import Line, Pair
from regard.errors import UsageError

TEXT = """
a man in a red hat is sitting on the bench near the river and reads his paper while two
dogs run through the high grass and some children look at them because they have never seen such
large animals before in their lives which is what their mother said to anyone who asked
=
ein mann mit rotem hut sitzt auf der bank am fluss und liest seine zeitung während zwei
hunde durch das hohe gras laufen und einige kinder ihnen zusehen weil sie noch nie so große tiere
in ihrem leben gesehen haben was ihre mutter jedem sagte der danach fragte die
=
Berlin Anna Peter 2024 Hamburg , . Maria IBM London ! Paris
"""
ENGLISH, GERMAN, NAMES = (part.split() for part in TEXT.split("="))
SYMBOLS = list("abcdefghij")


def made(count: int, seed: int, make: Callable[[random.Random], tuple[str, str]]) -> list[Pair]:
    chooser = random.Random(seed)
    return [Pair(line, *map(Line, make(chooser))) for line in range(1, count + 1)]


def words(chooser: random.Random, from_words: Sequence[str], names: int = 1) -> str:
    chosen = [*chooser.choices(from_words, k=chooser.randint(5, 12))]
    return " ".join([*chosen, *chooser.choices(NAMES, k=names)])


def translation(chooser: random.Random) -> tuple[str, str]:
    return words(chooser, ENGLISH), words(chooser, GERMAN)


def names(chooser: random.Random) -> tuple[str, str]:
    return words(chooser, ENGLISH, names=20), words(chooser, GERMAN, names=20)


def copy(chooser: random.Random) -> tuple[str, str]:
    line = " ".join(chooser.choices(SYMBOLS, k=8))
    return line, line


def ordered(chooser: random.Random) -> tuple[str, str]:
    symbols = chooser.choices(SYMBOLS, k=8)
    return " ".join(symbols), " ".join(sorted(symbols))


def addition(chooser: random.Random) -> tuple[str, str]:
    first, second = chooser.randrange(1000), chooser.randrange(1000)
    return " ".join(f"{first}+{second}"), " ".join(str(first + second))


def summary(chooser: random.Random) -> tuple[str, str]:
    line = words(chooser, ENGLISH, names=3)
    return line, " ".join(line.split()[:4])


def japanese(chooser: random.Random) -> tuple[str, str]:
    return words(chooser, ENGLISH), "".join(chooser.choices("私は東京に行きますのでがを", k=12))


def swapped(pairs: list[Pair]) -> list[Pair]:
    return [Pair(pair.number, pair.target, pair.source) for pair in pairs]


@pytest.mark.parametrize("make", [translation, japanese])
@pytest.mark.parametrize("count", [4, 500])
def test_swapped_files_are_refused(
    make: Callable[[random.Random], tuple[str, str]], count: int
) -> None:
    profile = examine(made(2000, 0, make)).profile
    given = made(count, 1, make)
    refuse_swapped(profile, given, "the validation files")
    with pytest.raises(UsageError, match="the validation files are swapped"):
        refuse_swapped(profile, swapped(given), "the validation files")


@pytest.mark.parametrize("make", [copy, ordered, addition, summary, names])
@pytest.mark.parametrize("count", [1, 3, 500])
def test_right_files_are_not_refused(
    make: Callable[[random.Random], tuple[str, str]], count: int
) -> None:
    profile = examine(made(2000, 0, make)).profile
    for seed in range(20 if count < 10 else 1):
        refuse_swapped(profile, made(count, seed + 1, make), "these files")


def test_files_of_other_words_are_not_refused() -> None:
    profile = examine(made(2000, 0, translation)).profile
    refuse_swapped(profile, made(500, 0, copy), "these files")
    refuse_swapped(profile, [], "these files")
    same_side = [Pair(pair.number, pair.source, pair.source) for pair in made(500, 1, translation)]
    refuse_swapped(profile, same_side, "these files")


def test_only_one_wrong_side_is_not_called_swapped() -> None:
    profile = examine(made(2000, 0, translation)).profile
    german = [Pair(pair.number, pair.target, pair.target) for pair in made(500, 1, translation)]
    refuse_swapped(profile, german, "these files")


def test_a_profile_comes_back_from_json() -> None:
    profile = examine(made(300, 0, translation)).profile
    assert Profile.from_json(json.loads(json.dumps(profile.to_json()))) == profile
    for damaged in ({}, {"source": 1, "target": 2}, {"source": {"a": "x"}, "target": {}}):
        with pytest.raises(UsageError):
            Profile.from_json(damaged)


def test_a_profile_is_bounded() -> None:
    pairs = [Pair(number, Line(f"w{number}"), Line(f"v{number}")) for number in range(1, 30_000)]
    profile = examine(pairs).profile
    assert len(profile.source) == len(profile.target) == 2000


def test_good_pairs_have_no_warning() -> None:
    assert examine(made(2000, 0, translation)).warnings == ()
    assert examine([]).warnings == ()


def test_identical_sides_are_warned_of() -> None:
    [warning] = examine(made(500, 0, copy)).warnings
    assert "identical in 100%" in warning


def test_extreme_lengths_are_warned_of() -> None:
    pairs = made(500, 0, translation)
    pairs[:100] = [Pair(pair.number, pair.source, Line("x")) for pair in pairs[:100]]
    found = examine(pairs).warnings
    assert any("9 times as long" in warning for warning in found)


def test_a_repeated_line_is_warned_of_but_not_the_labels_of_classes() -> None:
    pairs = made(500, 0, translation)
    pairs[:100] = [
        Pair(pair.number, Line("Advertisement , please ."), pair.target) for pair in pairs[:100]
    ]
    assert any("The same source line is in 20%" in warning for warning in examine(pairs).warnings)
    labels = [
        Pair(p.number, p.source, Line("yes" if p.number % 2 else "no")) for p in made(500, 0, copy)
    ]
    assert examine(labels).warnings == ()


def test_wrongly_converted_text_is_warned_of() -> None:
    pairs = made(500, 0, translation)
    broken = "schöne Grüße".encode().decode("latin-1")
    pairs[:50] = [Pair(pair.number, pair.source, Line(broken)) for pair in pairs[:50]]
    assert any("wrong conversion" in warning for warning in examine(pairs).warnings)


def test_overlap_is_the_share_of_validation() -> None:
    training, other = made(1000, 0, translation), made(50, 1, translation)
    assert overlap(training, other) == 0
    assert overlap(training, training[:50] + other) == 0.5
    assert overlap(training, training[:1] * 10) == 1
    assert overlap(training, []) == 0


def overlap(training: list[Pair], validation: list[Pair]) -> float:
    found = Overlap(validation)
    assert list(found.watch(training)) == training
    return found.share
