"""Looking into a model that reads dependency trees: each line goes with its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept import kept_weights
from toy import write_lines

import regard
from regard.cli import main
from regard.data.line import Line, Pair
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.inspection import aligning
from regard.inspection.aligning import align, choose, read_pairs
from regard.inspection.alignment import AttentionHeads
from regard.inspection.look import look
from regard.runs.folder import Run
from regard.runs.load import load_predictor
from regard.runs.snapshot import load_snapshots, snapshot

Sides = tuple[Line, Line]


def command(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def numbers(path: Path) -> list[list[int]]:
    return [[int(number) for number in line.split()] for line in lines(path)]


def data(trees: Path, beside: Path) -> Parallel:
    return Parallel(trees / "test.en", trees / "test.de", trees=beside)


@pytest.fixture
def run(trees: Path, tmp_path: Path) -> Path:
    shutil.copytree(trees / "run", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def pairs(trees: Path) -> list[Sides]:
    return list(read_pairs(Run.open(trees / "run"), data(trees, trees / "test.trees")))


@pytest.fixture
def files(trees: Path) -> list[object]:
    return ["--source", trees / "test.en", "--target", trees / "test.de"]


@pytest.fixture
def heads(trees: Path) -> list[object]:
    return ["--trees", trees / "test.trees"]


def test_pairs_are_read_with_their_trees(trees: Path, tmp_path: Path, pairs: list[Sides]) -> None:
    assert [list(source.tree or ()) for source, _ in pairs] == numbers(trees / "test.trees")
    for wrong, said in (
        (lines(trees / "test.trees")[:-1], r"has 20 lines but .*wrong\.trees has 19"),
        ([], r"has 20 lines but .*wrong\.trees has 0"),
    ):
        short = write_lines(tmp_path / "wrong.trees", wrong)
        with pytest.raises(UsageError, match=said):
            list(read_pairs(Run.open(trees / "run"), data(trees, short)))
    long = write_lines(tmp_path / "wrong.trees", [*lines(trees / "test.trees"), "0"])
    with pytest.raises(UsageError, match=r"has 20 lines but .*wrong\.trees has 21"):
        list(read_pairs(Run.open(trees / "run"), data(trees, long)))


def test_a_whole_file_is_read_as_each_sentence_is(trees: Path, pairs: list[Sides]) -> None:
    predictor = regard.load(trees / "run")
    together = list(predictor.attend(pairs, lambda attention, *sides: attention, None))
    for (source, target), attention in zip(pairs, together, strict=True):
        found = look(predictor, source, target.text)
        assert len(found.source.ids) > len(found.source.words)  # or pieces would be words
        assert attention is not None
        for kind in ("cross", "encoder", "decoder"):
            for layer, alone in zip(attention.of(kind), found.layers.of(kind), strict=True):
                np.testing.assert_allclose(layer, alone, atol=1e-5)
    source, target = pairs[0]
    flat = look(predictor, source._replace(tree=(0,) * len(source.tree or ())), target.text)
    assert np.abs(flat.layers.cross[0] - together[0].cross[0]).max() > 1e-4


def test_a_line_that_is_cut_keeps_the_tree_of_its_beginning(
    trees: Path, pairs: list[Sides]
) -> None:
    predictor = regard.load(trees / "run")
    predictor.length_limit = 5
    found = list(align(predictor, [*pairs, ("", "Ja.")], AttentionHeads(), "argmax"))
    assert all(found[:-1])
    assert found[-1] == frozenset()


def test_trees_that_do_not_fit_are_refused_in_a_sentence(
    trees: Path, transformer: Path, pairs: list[Sides]
) -> None:
    plain = [(source.text, target.text) for source, target in pairs]
    with pytest.raises(UsageError, match=r"Line 21 has no tree, .* give Line"):
        list(align(regard.load(trees / "run"), [*pairs, *plain], AttentionHeads(), "argmax"))
    reads_none = regard.load(transformer)
    found, expected = (
        list(align(reads_none, some, AttentionHeads(), "argmax")) for some in (pairs, plain)
    )
    assert found == expected
    wrong = [*pairs, (Line("one two", (0,)), "eins zwei")]
    with pytest.raises(UsageError, match="Line 21 has 1 head, but its source has 2 words"):
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
    aligning.run_heads(experiment, load_predictor(experiment), lambda text: None)
    (read,) = given
    assert [source.text for source, _ in read] == lines(trees / "valid.en")
    assert [list(source.tree) for source, _ in read] == numbers(trees / "valid.trees")


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
    assert command("look", run, sentence, "--trees", one, *page) == 0
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
    def working(*ignored: object, **more: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("regard.runs.load.load_model", working)
    rows = lines(trees / "test.trees")
    bad = ["--trees", write_lines(tmp_path / "bad", [*rows[:-1], "9 9"])]
    gold = ["--alignments", trees / "test.align"]
    to = ["--output", tmp_path / "output.html"]
    uses: list[tuple[str, list[object]]] = [
        ("look", ["--input", trees / "test.en", *to]),
        ("look", [lines(trees / "test.en")[0], *to]),
        ("align", [*files, *to]),
        ("evaluate", [*files, *gold]),
        ("translate", ["--input", trees / "test.en", "--alignments", tmp_path / "links", *to]),
    ]
    for verb, more in uses:
        for run, given, said in (
            (trees / "run", [], "give --trees"),
            (trees / "run", bad, str(bad[1])),
            (transformer, heads, "remove --trees"),
        ):
            assert command(verb, run, *more, *given) == 2, (verb, said)
            assert said in capsys.readouterr().err
    assert not (tmp_path / "output.html").exists()


def test_snapshots_show_the_attention_by_trees(trees: Path) -> None:
    kept = [each["sentences"] for each in load_snapshots(Run.open(trees / "run"))]
    shown = [sentence for sentences in kept for sentence in sentences if sentence["output"]]
    assert shown
    assert all(sentence["attention"] for sentence in shown)
    predictor = regard.load(trees / "run")
    parts = (lines(trees / "valid.en"), lines(trees / "valid.de"), numbers(trees / "valid.trees"))
    pairs = [
        Pair(number, Line(source, tuple(tree)), Line(target))
        for number, (source, target, tree) in enumerate(zip(*parts, strict=True), 1)
    ][:4]
    found = snapshot(predictor, pairs, [pair.target.text for pair in pairs])["sentences"]
    for sentence, pair in zip(found, pairs, strict=True):
        (attention,) = sentence["attention"]
        weights = look(predictor, pair.source, pair.target.text).attention(
            "cross", layer=2, words=True
        )
        np.testing.assert_allclose(kept_weights(attention)[1], weights, atol=0.01)
