"""Lines that are no sentences are recognised: the recipe fits them, and what makes sense for text
only is not looked for."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from regard import Parallel, doctor
from regard.corpora.registry import CORPORA, write_corpus
from regard.diagnosis.report import Report

Pairs = list[tuple[str, str]]
ReportOf = Callable[..., Report]

CHOOSER = random.Random(1)
PLACES = ("kitchen", "garden", "office", "hallway", "bathroom")
NAMES = ("mary", "john", "sandra", "daniel")
STATES = ("ohio", "texas", "utah", "maine", "idaho", "iowa", "alaska", "nevada")

RECIPES = {
    "grammar": "multi30k",
    "listops": "classifier",
    "drawn_words": "spatial",
    "summaries": "summaries",
    "copy": "turing",
    "repeat_copy": "turing",
    "associative_recall": "turing",
    "priority_sort": "turing",
    "convex_hull": "pointer",
    "tour": "pointer --set search.visits=all",
    "sorting": "pointer --set model.numbers=1 --set search.visits=all",
}


def test_every_corpus_has_a_recipe() -> None:
    assert RECIPES.keys() == CORPORA.keys()


@pytest.mark.parametrize("name", RECIPES)
def test_corpora_have_their_recipes_and_no_damage(name: str, tmp_path: Path) -> None:
    write_corpus(name, tmp_path, 400)
    sides = ("en", "de") if name == "grammar" else ("source", "target")
    files = [tmp_path / f"train.{side}" for side in sides]
    held = [tmp_path / f"valid.{side}" for side in sides]
    report = doctor(Parallel(*files), valid=Parallel(*held))
    assert dict(report.facts)["recipe that fits"] == RECIPES[name]
    assert set(report.damage) <= {"duplicate", "overlap"}
    assert report.damage.get("duplicate", 0) < 0.4 * report.pairs  # short lines to be copied
    assert not any("in common that can be learned" in each for each in report.warnings)


def story() -> tuple[str, str]:
    moves = [f"{CHOOSER.choice(NAMES)} went to the {CHOOSER.choice(PLACES)}" for _ in range(4)]
    return " ||| ".join([*moves, f"where is {CHOOSER.choice(NAMES)}"]), CHOOSER.choice(PLACES)


def review() -> tuple[str, str]:
    words = [*NAMES, *PLACES, *STATES, "plays", "sees", "and", "the"]
    sentences = [" ".join(CHOOSER.choices(words, k=8)) for _ in range(4)]
    return " ||| ".join(sentences), CHOOSER.choice(("pos", "neg"))


def question() -> tuple[str, str]:
    count, state = CHOOSER.randrange(100), CHOOSER.choice(STATES)
    form = f"answer ( A , ( river ( A ) , more ( A , {count} ) , loc ( A , {state} ) ) )"
    return f"which rivers of more than {count} km are in {state} ?", form


def command() -> tuple[str, str]:
    verbs = CHOOSER.choices(["jump", "walk", "run", "look"], k=5)
    return " and ".join(verbs), " ".join(f"I_{verb.upper()}" for verb in verbs)


def spelling() -> tuple[str, str]:
    letters = CHOOSER.choices("abdegiklmnorstu", k=6)
    return "".join(letters), " ".join(f"{letter.upper()}0" for letter in letters)


def picture() -> tuple[str, str]:
    rows = [",".join(str(CHOOSER.randrange(256)) for _ in range(12)) for _ in range(28)]
    return " ".join(rows), "".join(CHOOSER.choices("ABCDEF", k=4))


def path() -> tuple[str, str]:
    return f"pictures/{CHOOSER.random()}.png", "".join(CHOOSER.choices("ABCDEF", k=4))


@pytest.mark.parametrize(
    ("make", "recipe"),
    [
        (story, "entity"),
        (review, "hierarchical"),
        (question, "parsing"),
        (command, "scan"),
        (spelling, "phonemes"),
        (picture, "spatial --set model.height=28"),
        (path, "spatial"),
    ],
)
def test_other_tasks_have_their_recipes(
    make: Callable[[], tuple[str, str]], recipe: str, report_of: ReportOf
) -> None:
    pairs = list(dict.fromkeys(make() for _ in range(300)))
    report = report_of(pairs)
    assert dict(report.facts)["recipe that fits"] == recipe
    assert (report.damage, report.warnings) == ({}, [])


def tagged(clean: Pairs) -> Pairs:
    def tag(word: str) -> str:
        return "PUNCT" if word == "." else ("X", "NOUN", "VERB")[len(word) % 3]

    sentences = [source.replace(".", " .") for source, _ in clean]
    return [(each, " ".join(map(tag, each.split()))) for each in sentences]


def test_tags_have_a_tagger_and_the_words_are_examined(clean: Pairs, report_of: ReportOf) -> None:
    pairs = tagged(clean)
    pairs[7] = (f"<b>{pairs[7][0]}", pairs[7][1])
    report = report_of(pairs)
    assert report.recipe == "tagger_rnn"
    assert report.damage["markup"] == 1
    assert set(report.damage) <= {"markup", "duplicate", "near-duplicate"}
    assert [side.name for side in report.sides] == ["source"]


def test_a_few_damaged_lines_do_not_hide_the_form(report_of: ReportOf) -> None:
    pairs = [question() for _ in range(200)] + [("no form here", "nothing at all")] * 3
    assert report_of(pairs).recipe == "parsing"


def test_lines_that_differ_in_a_digit_are_different(data: Callable[..., Parallel]) -> None:
    pairs = [
        (f"0.{index},0.5 0.5,0.{index} 0.7,0.1", f"{1 + index % 3} 2") for index in range(100, 200)
    ]
    report = doctor(data([*pairs, pairs[0]]), valid=data([("0.1,0.5 0.5,0.9 0.7,0.1", "1 2")], "v"))
    assert report.damage == {"duplicate": 1}
    assert report.compared[0].shared == report.compared[0].shared_sources == 0


def test_one_pair_again_and_again_is_no_label(clean: Pairs, report_of: ReportOf) -> None:
    report = report_of([clean[0]] * 300)
    assert report.recipe == "multi30k"
    assert report.damage == {"duplicate": 299}
    assert len(report.warnings) == 1
    assert any("fewer than 200 different pairs" in each.sentence for each in report.findings)


def test_a_few_sentences_are_no_commands(clean: Pairs, report_of: ReportOf) -> None:
    assert report_of(clean[:30]).recipe == "multi30k"
    glossary = [(source.split()[-1], f"das {target}") for source, target in clean[:60]]
    assert report_of(glossary).recipe == "multi30k"


RUSSIAN, ENGLISH, CHINESE = map(
    str.split,
    (
        "я ты он она мы вы дом собака кошка вода хлеб идёт бежит ест пьёт видит",
        "I you he she we you house dog cat water bread walks runs eats drinks sees",
        "我 你 他 她 我们 你们 房子 狗 猫 水 面包 走 跑 吃 喝 看见",
    ),
)


def translation(read: list[str], length: int) -> tuple[str, str]:
    """Into Chinese, which has no spaces."""
    chosen = CHOOSER.choices(range(len(read)), k=length)
    return " ".join(read[word] for word in chosen), "".join(CHINESE[word] for word in chosen)


def test_words_of_other_scripts_are_no_symbols(report_of: ReportOf) -> None:
    report = report_of([translation(RUSSIAN, 5) for _ in range(60)])
    assert (report.recipe, len(report.sides)) == ("multi30k", 2)
    labelled = [(translation(RUSSIAN, 5)[0], CHOOSER.choice(("pos", "neg"))) for _ in range(60)]
    assert len(report_of(labelled).sides) == 1


def test_paragraphs_without_spaces_are_no_summaries(report_of: ReportOf) -> None:
    assert report_of([translation(ENGLISH, 80) for _ in range(60)]).recipe == "multi30k"
