"""Alignments by attention: the methods, the heads, whole files and their error rate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from toy import write_lines
from untrained import untrained

import regard
from regard.cli import main
from regard.data.parallel import Parallel
from regard.data.words import Side
from regard.errors import UsageError
from regard.inspection import aligning
from regard.inspection.aligning import GoldFile, align, choose, read_pairs
from regard.inspection.alignment import AttentionHeads, between_words, find_method, links
from regard.models.transformer import TransformerConfig
from regard.runs.folder import Run

WEIGHTS = np.array(
    [
        [0.8, 0.1, 0.1, 0.0],
        [0.1, 0.4, 0.5, 0.0],
        [0.0, 0.2, 0.7, 0.1],
    ]
)
"""Three target words look at four source words."""


def test_the_three_methods() -> None:
    assert links(WEIGHTS, "argmax") == {(0, 0), (2, 1), (2, 2)}
    assert links(WEIGHTS, "intersection") == {(0, 0), (2, 2)}
    # (1, 1) and (3, 2) touch and bring in new words; (2, 1) touches too, but brings in none
    assert links(WEIGHTS, "grow-diag") == {(0, 0), (2, 2), (1, 1), (3, 2)}


def test_a_link_far_from_the_others_is_not_grown_to() -> None:
    far = np.array([[0.9, 0, 0, 0.05, 0.05], [0.8, 0, 0, 0, 0.2], [0.1, 0, 0, 0, 0.9]])
    assert links(far, "grow-diag") == {(0, 0), (0, 1), (4, 2)}  # (3, 0) touches nothing


def test_what_nobody_looks_at_has_no_link() -> None:
    assert links(np.array([[1.0, 0.0], [1.0, 0.0]]), "grow-diag") == {(0, 0), (0, 1)}


def test_nothing_aligns_with_nothing() -> None:
    assert links(np.zeros((0, 3)), "grow-diag") == frozenset()


def test_reading_is_one_place_after_writing() -> None:
    side = Side((4, 5, 2), ("a", "b", "</s>"), ("a", "b", "</s>"), (0, 1, 2))
    weights = np.array([[0.1, 0.1, 0.8], [1.0, 0, 0], [0, 1.0, 0]])
    np.testing.assert_allclose(between_words(weights, side, side, "writing"), weights[:2, :2])
    np.testing.assert_allclose(between_words(weights, side, side, "reading"), np.eye(2))


@pytest.mark.parametrize("text", ["mean", "3.2", "1.1,2.4", "mean@reading", "3.2,4.1@reading"])
def test_heads_are_written_as_they_are_read(text: str) -> None:
    assert str(AttentionHeads.parse(text)) == text


@pytest.mark.parametrize("text", ["", "3", "0.1", "1.0", "a.b", "1.1,", "1.1@writing", "mean,1.1"])
def test_what_names_no_heads_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="names no heads"):
        AttentionHeads.parse(text)


def test_a_head_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no head 1\.3"):
        AttentionHeads(((1, 3),)).mean((np.zeros((2, 3, 3), np.float32),))


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(UsageError, match="choose argmax"):
        find_method("giza")


def test_the_right_heads_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Head 1.2 looks at the gold while writing; 1.1 and 1.3 do not, nor does any while reading."""
    rng = np.random.default_rng(1)
    gold = [aligning.parse_gold("0-1 1-0 2-2")] * 5
    right = np.eye(3)[[1, 0, 2]] + 0.1

    def examples(*ignored: object) -> list[object]:
        noise = [np.stack([rng.random((3, 3)), right, rng.random((3, 3))]) for _ in gold]
        names = ((1, 1), (1, 2), (1, 3))
        return [
            aligning._Example(names, {"writing": each, "reading": rng.random((3, 3, 3))})
            for each in noise
        ]

    predictor = untrained(TransformerConfig.miniatures()[0])
    monkeypatch.setattr(predictor, "attend", examples)
    for known in (gold, None):
        chosen = choose(predictor, [("", "")] * 5, "grow-diag", known)
        assert (1, 2) in chosen.best.heads.indices
        assert chosen.best.heads.moment == "writing"
        assert chosen.best.error == 0
        assert chosen.single[0].heads.indices == ((1, 2),)
    with pytest.raises(UsageError, match="5 lines for 6 pairs"):
        choose(predictor, [("", "")] * 6, "grow-diag", gold)


def test_a_model_that_learned_aligns_well(able: Path) -> None:
    predictor = regard.load(able / "run")
    data = Parallel(able / "test.source", able / "test.target")
    pairs = list(read_pairs(Run.open(able / "run"), data))
    gold = GoldFile(able / "test.align").read()
    chosen = choose(predictor, pairs, "argmax", gold)
    assert chosen.best.error < 0.1
    found = list(align(predictor, [*pairs, ("", "ANT"), ("ant", "")], chosen.best.heads, "argmax"))
    assert found[-2:] == [frozenset(), frozenset()]
    one_by_one = [next(align(predictor, [pair], chosen.best.heads, "argmax")) for pair in pairs]
    assert found[:-2] == one_by_one  # neighbours in a batch change nothing, and order is kept


def command(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def run(able: Path, tmp_path: Path) -> Path:
    shutil.copytree(able / "run", tmp_path / "run")
    return tmp_path / "run"


def test_align_evaluate_and_translate_agree(
    able: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--source", able / "test.source", "--target", able / "test.target"]
    valid = ["--source", able / "valid.source", "--target", able / "valid.target"]
    gold = able / "valid.align"
    assert command("align", run, *valid, "--choose", gold, "--output", tmp_path / "v") == 0
    assert "Best combination" in capsys.readouterr().err
    kept = json.loads((run / "heads.json").read_text())
    assert kept["by"] == "gold"
    assert command("align", run, *files, "--output", tmp_path / "links") == 0
    lines = (tmp_path / "links").read_text().splitlines()
    assert len(lines) == 30
    capsys.readouterr()
    own = write_lines(tmp_path / "own.align", lines)
    assert command("evaluate", run, *files, "--alignments", own, "--json") == 0
    scores = {each["name"]: each for each in json.loads(capsys.readouterr().out)["scores"]}
    assert scores["AER"]["value"] == 0
    assert "heads:1.1" in scores["AER"]["signature"]
    assert command("evaluate", run, *files, "--alignments", able / "test.align", "--json") == 0
    scores = {each["name"]: each for each in json.loads(capsys.readouterr().out)["scores"]}
    assert 0 <= scores["AER"]["value"] < 20
    translate = ["translate", run, "--input", able / "test.source", "--workers", 1]
    output = ["--output", tmp_path / "out", "--alignments", tmp_path / "of translations"]
    assert command(*translate, *output) == 0
    ours = (tmp_path / "of translations").read_text().splitlines()
    right = (tmp_path / "out").read_text().splitlines()
    references = (able / "test.target").read_text().splitlines()
    same = [i for i in range(30) if right[i] == references[i]]
    assert len(same) > 15
    assert all(ours[i] == lines[i] for i in same)


def test_without_a_gold_heads_are_chosen_once_by_agreement(
    able: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--source", able / "test.source", "--target", able / "test.target"]
    assert command("align", run, *files) == 0
    assert "two directions agree" in capsys.readouterr().err
    assert Run.open(run).facts("heads")
    assert command("align", run, *files) == 0
    assert "two directions agree" not in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_aligns_all_the_same(
    able: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("regard.runs.folder.write_json", refuse)
    files = ["--source", able / "test.source", "--target", able / "test.target"]
    assert command("align", run, *files) == 0
    assert not (run / "heads.json").exists()
    assert command("align", run, *files, "--choose", able / "test.align") == 1  # asked to keep


def test_what_cannot_be_right_is_refused_in_a_sentence(
    able: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = write_lines(tmp_path / "short", ["ANT"])
    bad = write_lines(tmp_path / "bad", ["0-0", "1:1"])
    source = ["--source", able / "test.source"]
    files = [*source, "--target", able / "test.target"]
    for arguments, said in (
        (["align", run, *source, "--target", short], "test.source has 30 lines but"),
        (["align", run, *files, "--method", "giza"], "choose argmax"),
        (["align", run, *files, "--attention-heads", "9.9"], "no head 9.9"),
        (["align", run, *files, "--choose", bad], "bad:2: '1:1' is not a link"),
        (["align", run, *files, "--choose", short], "is not a link"),
        (["align", run, *files, "--choose", able / "valid.align"], "one per pair"),
        (["evaluate", run, "--alignments", bad], "give --source and --target"),
        (["evaluate", run, *files, "--alignments", able / "valid.align"], "one per pair"),
    ):
        assert command(*arguments) == 2, arguments
        assert said in capsys.readouterr().err
