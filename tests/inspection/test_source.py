"""Looking into a model that reads dependency trees: each line goes with its own."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from regard.inspection.snapshot import snapshot
from toy import write_lines

import regard
from regard.cli import main
from regard.errors import UsageError
from regard.inspection import aligning
from regard.inspection.aligning import Pair, align, choose, each_pair, read_pairs
from regard.inspection.alignment import AttentionHeads
from regard.inspection.look import look
from regard.runs.folder import Run


def command(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def numbers(path: Path) -> list[list[int]]:
    return [[int(number) for number in line.split()] for line in lines(path)]


@pytest.fixture
def run(trees: Path, tmp_path: Path) -> Path:
    shutil.copytree(trees / "run", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def pairs(trees: Path) -> list[Pair]:
    return list(read_pairs(trees / "test.en", trees / "test.de", trees / "test.trees"))


@pytest.fixture
def files(trees: Path) -> list[object]:
    return ["--source", trees / "test.en", "--target", trees / "test.de"]


@pytest.fixture
def heads(trees: Path) -> list[object]:
    return ["--source-heads", trees / "test.trees"]


def test_pairs_are_read_with_their_trees(trees: Path, tmp_path: Path, pairs: list[Pair]) -> None:
    assert [list(pair.heads or ()) for pair in pairs] == numbers(trees / "test.trees")
    for wrong, said in (
        (lines(trees / "test.trees")[:-1], "before line 20"),
        ([], "before line 1"),
    ):
        short = write_lines(tmp_path / "wrong.heads", wrong)
        with pytest.raises(UsageError, match=said):
            list(read_pairs(trees / "test.en", trees / "test.de", short))
    long = write_lines(tmp_path / "wrong.heads", [*lines(trees / "test.trees"), "0"])
    with pytest.raises(UsageError, match="more than the 20 lines"):
        list(read_pairs(trees / "test.en", trees / "test.de", long))


def test_a_whole_file_is_read_as_each_sentence_is(trees: Path, pairs: list[Pair]) -> None:
    predictor = regard.load(trees / "run")
    together = list(each_pair(predictor, pairs, lambda attention, *sides: attention, None))
    for pair, attention in zip(pairs, together, strict=True):
        found = look(predictor, *pair)
        assert len(found.source.ids) > len(found.source.words)  # or pieces would be words
        assert attention is not None
        for kind in ("cross", "encoder", "decoder"):
            for layer, alone in zip(attention.of(kind), found.layers.of(kind), strict=True):
                np.testing.assert_allclose(layer, alone, atol=1e-5)
    flat = look(predictor, pairs[0].source, pairs[0].target, [0] * len(pairs[0].heads or ()))
    assert np.abs(flat.layers.cross[0] - together[0].cross[0]).max() > 1e-4


def test_a_line_that_is_cut_keeps_the_tree_of_its_beginning(trees: Path, pairs: list[Pair]) -> None:
    predictor = regard.load(trees / "run")
    predictor.length_limit = 5
    found = list(align(predictor, [*pairs, Pair("", "Ja.", [])], AttentionHeads(), "argmax"))
    assert all(found[:-1])
    assert found[-1] == frozenset()


def test_trees_that_do_not_fit_are_refused_in_a_sentence(
    trees: Path, transformer: Path, pairs: list[Pair]
) -> None:
    plain = [Pair(pair.source, pair.target) for pair in pairs]
    with pytest.raises(UsageError, match="give heads"):
        list(align(regard.load(trees / "run"), [*pairs, *plain], AttentionHeads(), "argmax"))
    with pytest.raises(UsageError, match="leave heads out"):
        list(align(regard.load(transformer), [*plain, *pairs], AttentionHeads(), "argmax"))
    wrong = [*pairs, Pair("one two", "eins zwei", [0])]
    with pytest.raises(UsageError, match="Line 21 has 1 heads, but its source has 2 words"):
        list(align(regard.load(trees / "run"), wrong, AttentionHeads(), "argmax"))


def test_heads_are_chosen_by_the_validation_trees(
    trees: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def telling(*arguments: Any) -> Any:
        given.append(arguments[1])
        return choose(*arguments)

    monkeypatch.setattr(aligning, "choose", telling)
    experiment = Run.open(run)
    aligning.run_heads(experiment, experiment.predictor(), lambda text: None)
    (read,) = given
    assert [pair.source for pair in read] == lines(trees / "valid.en")
    assert [list(pair.heads) for pair in read] == numbers(trees / "valid.trees")


def test_align_evaluate_translate_and_look_agree(
    trees: Path,
    run: Path,
    files: list[object],
    heads: list[object],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    links, output = tmp_path / "links", tmp_path / "output"
    assert command("align", run, *files, *heads, "--output", links) == 0
    assert json.loads((run / "heads.json").read_text())["by"] == "agreement"
    capsys.readouterr()
    assert command("evaluate", run, *files, *heads, "--alignments", links, "--json") == 0
    scores = {each["name"]: each for each in json.loads(capsys.readouterr().out)["scores"]}
    assert scores["AER"]["value"] == 0
    translate = ["translate", run, "--input", trees / "test.en", *heads, "--workers", 1]
    assert command(*translate, "--output", output, "--alignments", tmp_path / "ours") == 0
    own = ["--source", trees / "test.en", "--target", output]
    assert command("align", run, *own, *heads, "--output", links) == 0
    assert lines(tmp_path / "ours") == lines(links)
    assert any(lines(links))
    capsys.readouterr()
    page = ["--output", tmp_path / "look.html"]
    assert command("look", run, "--input", trees / "test.en", *heads, *page) == 0
    assert capsys.readouterr().out.splitlines() == lines(output)
    one = write_lines(tmp_path / "one", lines(trees / "test.trees")[:1])
    sentence = lines(trees / "test.en")[0]
    assert command("look", run, sentence, "--source-heads", one, *page) == 0
    assert capsys.readouterr().out.splitlines() == lines(output)[:1]


def test_a_gold_alignment_chooses_with_trees(
    trees: Path, run: Path, files: list[object], heads: list[object], tmp_path: Path
) -> None:
    choosing = ["--choose", trees / "test.align", "--output", tmp_path / "links"]
    assert command("align", run, *files, *heads, *choosing) == 0
    assert json.loads((run / "heads.json").read_text())["by"] == "gold"


def test_what_does_not_fit_is_said_before_any_work(
    trees: Path,
    transformer: Path,
    files: list[object],
    heads: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def working(self: Run, *ignored: object, **more: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(Run, "predictor", working)
    rows = lines(trees / "test.trees")
    bad = ["--source-heads", write_lines(tmp_path / "bad", [*rows[:-1], "9 9"])]
    gold = ["--alignments", trees / "test.align"]
    to = ["--output", tmp_path / "output"]
    uses: list[tuple[str, list[object]]] = [
        ("look", ["--input", trees / "test.en", *to]),
        ("look", [lines(trees / "test.en")[0], *to]),
        ("align", [*files, *to]),
        ("evaluate", [*files, *gold]),
        ("translate", ["--input", trees / "test.en", "--alignments", tmp_path / "links", *to]),
    ]
    for verb, more in uses:
        for run, given, said in (
            (trees / "run", [], "give --source-heads"),
            (trees / "run", bad, str(bad[1])),
            (transformer, heads, "leave --source-heads out"),
        ):
            assert command(verb, run, *more, *given) == 2, (verb, said)
            assert said in capsys.readouterr().err
    assert not (tmp_path / "output").exists()


def test_snapshots_show_the_attention_by_trees(trees: Path) -> None:
    kept = [each["sentences"] for each in Run.open(trees / "run").snapshots()]
    shown = [sentence for sentences in kept for sentence in sentences if sentence["output"]]
    assert shown
    assert all(sentence["attention"] for sentence in shown)
    predictor = regard.load(trees / "run")
    sources, targets = lines(trees / "valid.en")[:4], lines(trees / "valid.de")[:4]
    beside = numbers(trees / "valid.trees")[:4]
    found = snapshot(predictor, sources, targets, targets, beside)["sentences"]
    for sentence, source, target, tree in zip(found, sources, targets, beside, strict=True):
        attention = sentence["attention"]
        shape = (attention["layers"], len(attention["rows"]), len(attention["columns"]))
        steps = np.frombuffer(base64.b64decode(attention["weights"]), np.uint8).reshape(shape)
        weights = look(predictor, source, target, tree).attention("cross", layer=2, words=True)
        np.testing.assert_allclose(steps[1] / 255, weights, atol=0.01)
