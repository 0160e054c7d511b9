"""A model that writes indices through every verb: what works, and what is refused in a sentence."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

import regard
from regard.cli import main
from regard.corpora.registry import write_corpus

LINE = "0.1,0.2 0.9,0.1 0.5,0.8 0.4,0.4"
TINY = ["model.width=16", "model.heads=2", "model.inner=16", "training.processes=1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and a run that has learned next to nothing."""
    path = tmp_path_factory.mktemp("indices")
    write_corpus("convex_hull", path, pairs=200, sizes=(4, 5))
    settings = [*TINY, "training.metric=covered_area"]
    data = regard.Parallel(path / "train.source", path / "train.target")
    valid = regard.Parallel(path / "valid.source", path / "valid.target")
    regard.train(
        "pointer", data, run=path / "run", valid=valid, steps=3, settings=settings, quiet=True
    )
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = main([str(each) for each in arguments])
    return code, capsys.readouterr().err


def test_translations_are_indices_from_one_each_at_most_once(folder: Path) -> None:
    translate = regard.load(folder / "run")
    for output in translate([LINE, LINE]):
        indices = [int(index) for index in output.split()]
        assert set(indices) <= {1, 2, 3, 4}
        assert len(set(indices)) == len(indices)
    assert translate("") == ""


def test_scores_of_a_test_set(folder: Path) -> None:
    test = regard.Parallel(folder / "test.5.source", folder / "test.5.target")
    assert list(regard.evaluate(folder / "run", test)) == [
        "covered area",
        "simple polygons",
        "exact",
    ]
    rows = regard.compare([folder / "run", folder / "run"], test)
    assert {row.metric for row in rows} == {"covered area", "simple polygons", "exact"}
    assert all(total < 0 for total, _ in regard.score(folder / "run", test))


def test_the_metric_of_training_judges_everywhere(
    folder: Path, tmp_path: Path, short_timings: None
) -> None:
    test = regard.Parallel(folder / "test.5.source", folder / "test.5.target")
    found = regard.tune_judges(folder / "run", [f"pair={folder / 'run'}"], test, beam=2, trials=2)
    assert found.metric == "covered area"
    score = regard.distill(folder / "run", test, output=tmp_path / "out")
    assert score is not None
    assert score.name == "covered area"
    rows = regard.ladder(
        ["pointer", "other=pointer:training.metric=exact"],
        regard.Parallel(folder / "train.source", folder / "train.target"),
        output=tmp_path / "ladder",
        test=test,
        steps=2,
        settings=[*TINY, "training.metric=covered_area"],
        quiet=True,
    )
    labels = [row.measured.metric for row in rows if row.measured]
    assert labels == ["covered area", "covered area"]  # that of the first, for all


def test_a_look_shows_where_it_points(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    look = regard.look(regard.load(folder / "run"), LINE, target="1 2 3")
    assert look.source.pieces == ("#1", "#2", "#3", "#4", "</s>")
    pointed = look.attention("cross")
    assert pointed.shape == (4, 5)
    chosen = [pointed[0, 0], pointed[1, 1], pointed[2, 2], pointed[3, 4]]
    expected = [each.log_probability for each in look.written]
    assert [float(value) for value in chosen] == pytest.approx([math.exp(log) for log in expected])
    look.save(tmp_path / "look.html")
    assert run(capsys, "watch", folder / "run", "--output", tmp_path / "watch.html")[0] == 0


@pytest.mark.parametrize(
    ("target", "wrong"), [("1 5", "5"), ("0 1", "0"), ("-1", "-1"), ("1.5", "1.5"), ("one", "one")]
)
def test_targets_are_checked_with_file_and_line(target: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"{LINE}\n{LINE}\n")
    (tmp_path / "b").write_text(f"1 2\n{target}\n")
    with pytest.raises(regard.UsageError, match=f"b:2 has '{wrong}', but its source has 4 words"):
        regard.train("pointer", regard.Parallel(tmp_path / "a", tmp_path / "b"), run=tmp_path / "r")


def test_what_is_given_by_hand_is_checked(folder: Path, tmp_path: Path) -> None:
    translate = regard.load(folder / "run")
    with pytest.raises(regard.UsageError, match="The target has '7'"):
        regard.look(translate, LINE, target="1 7")
    with pytest.raises(regard.UsageError, match="The prefix has '7'"):
        regard.look(translate, LINE, prefix="7")
    with pytest.raises(regard.UsageError, match="The prefix of line 2 has '9'"):
        list(translate.predict([LINE, LINE], prefixes=["2", "9"]))
    begun = next(translate.predict([LINE], prefixes=["3 1"]))
    assert begun.text.startswith("3 1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["translate", "--alignments", "x"], "--alignments has no effect with a model that writes"),
        (["translate", "--shortlist", "100"], "--shortlist has no effect"),
        (["evaluate", "--lowercase"], "--lowercase has no effect"),
        (["compare", "--lowercase"], "--lowercase has no effect with a model that writes indices"),
        (["compare", "--tokenize", "none"], "--tokenize has no effect"),
    ],
)
def test_options_of_text_are_refused(
    arguments: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *options = arguments
    code, output = run(capsys, verb, folder / "run", *options)
    assert code != 0
    assert said in output


@pytest.mark.parametrize(
    ("visits", "said"),
    [
        ("any", []),
        ("once", ["never writes 1 target of the training data, where an index is repeated: set"]),
        (
            "all",
            [
                "1 target of the training data, where an index is repeated: set search.visits=any.",
                "2 targets of the training data, where an index is missing: set search.visits=any.",
            ],
        ),
    ],
)
def test_targets_that_search_may_not_write_are_counted(
    visits: str, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "source").write_text("0,0 1,1\n1,1 2,0\n3,3 1,4\n5,1 2,2\n")
    (tmp_path / "target").write_text("2 1\n2\n1 1\n1 2\n")
    data = regard.Parallel(tmp_path / "source", tmp_path / "target")
    settings = [*TINY, f"search.visits={visits}"]
    regard.train("pointer", data, run=tmp_path / "run", steps=1, settings=settings)
    lines = [line for line in capsys.readouterr().err.splitlines() if "search.visits" in line]
    assert len(lines) == len(said)
    assert all(part in line for part, line in zip(said, lines, strict=True))


def test_words_are_not_aligned(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = ["--source", folder / "test.5.source", "--target", folder / "test.5.target"]
    code, output = run(capsys, "align", folder / "run", *test)
    assert code != 0
    assert "Only a model that reads and writes text aligns words" in output


@pytest.mark.parametrize(
    ("recipe", "settings", "said"),
    [
        ("tiny", ["search.visits=once"], "no indices to visit"),
        ("pointer", ["training.metric=bleu"], "is not validated by bleu"),
        ("pointer", ["training.metric=covered_area", "model.numbers=3"], "set model.numbers=2"),
        ("pointer", ["model.width=15"], "even width"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    recipe: str, settings: list[str], said: str, folder: Path
) -> None:
    data = regard.Parallel(folder / "train.source", folder / "train.target")
    with pytest.raises(regard.UsageError, match=said):
        regard.train(recipe, data, run=folder / "refused", settings=settings, quiet=True)


def test_there_is_no_target_vocabulary(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = re.compile(r"^vocabulary +source 5, target none \(indices\) *$", re.MULTILINE)
    assert main(["info", str(folder / "run")]) == 0
    assert said.search(capsys.readouterr().out)
    assert main(["info", str(folder / "run"), "--json"]) == 0
    sizes = json.loads(capsys.readouterr().out)["vocabulary"]
    assert sizes == {"source": 5, "target": None}
    settings = [f"--set={each}" for each in TINY]
    assert main(["plan", "pointer", "--pairs=1k", "--device=h100", *settings]) == 0
    assert said.search(capsys.readouterr().out)


def test_the_corpus_verb_takes_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--output", tmp_path, "--pairs", 5, "--points", "6"]
    assert run(capsys, "corpus", "sorting", *options)[0] == 0
    lines = (tmp_path / "train.source").read_text().splitlines()
    assert [len(line.split()) for line in lines] == [6] * 5
