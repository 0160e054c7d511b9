"""Dependency trees from file to model, by every verb of a model with positions in a tree."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import toy
from toy import heads_of_words, tensors, write_corpus, write_lines

import regard
from regard.cli import main
from regard.data.batch import Padded
from regard.data.line import Line
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.models.transformer import TransformerEncoder
from regard.runs.folder import Run
from regard.runs.load import load_predictor

Corpus = dict[str, Path]
Seen = list[Padded]


def heads_of(line: str) -> tuple[int, ...]:
    """A tree that tells the lines of the toy language apart: every word hangs on the next 'ant',
    or on the word after it; the last one is the root."""
    words = line.split()
    found = []
    for place in range(len(words)):
        later = [at for at in range(place + 1, len(words)) if words[at] == "ant"]
        found.append(0 if place + 1 == len(words) else (later[0] if later else place + 1) + 1)
    return tuple(found)


def line(text: str) -> Line:
    return Line(text, heads_of(text))


def train_trees(run: Path, corpus: Corpus, *settings: str, **more: Any) -> Run:
    return toy.train_small(run, corpus, "model.position=syntax", *settings, **more)


def write_heads(path: Path, source: Path) -> Path:
    lines = source.read_text().splitlines()
    return write_lines(path, (" ".join(map(str, heads_of(line))) for line in lines))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    files = write_corpus(folder)
    for part in ("train", "valid", "test"):
        write_heads(folder / f"{part}.trees", folder / f"{part}.source")
    return files


@pytest.fixture
def with_heads(corpus: Corpus) -> Corpus:
    folder = corpus["source"].parent
    trees = {"trees": "train.trees", "valid_trees": "valid.trees"}
    return {**corpus, **{name: folder / path for name, path in trees.items()}}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What an encoder is given is kept here."""
    given: Seen = []
    forward = TransformerEncoder.forward

    def watched(self: TransformerEncoder, source: Padded) -> Any:
        given.append(source)
        return forward(self, source)

    monkeypatch.setattr(TransformerEncoder, "forward", watched)
    return given


def must_be_in_step(seen: Seen, run: Path) -> int:
    """Every row that was read has the heads of its words; how many rows there were."""
    tokenizer, rows = Run.open(run).tokenizers().source, 0
    for source in seen:
        trees = source.annotations["tree"].tolist()
        for ids, tree, length in zip(source.values.tolist(), trees, source.lengths, strict=True):
            text = tokenizer.decode(ids[: length - 1])
            assert heads_of_words(tree[: length - 1]) == heads_of(text)
            rows += 1
    seen.clear()
    return rows


@pytest.mark.parametrize("settings", [(), ("tokenizer.kind=bpe", "tokenizer.sampling=0.2")])
def test_training_and_validating_read_the_heads(
    tmp_path: Path, with_heads: Corpus, seen: Seen, settings: tuple[str, ...]
) -> None:
    small = ("tokenizer.vocabulary=300", "training.validate_every=2", *settings)
    run = train_trees(tmp_path / "run", with_heads, *small, steps=4)
    assert len(run.store("train")) == 120
    assert must_be_in_step(seen, run.path) > 40


def test_what_is_held_out_keeps_its_heads(tmp_path: Path, with_heads: Corpus, seen: Seen) -> None:
    files = {name: path for name, path in with_heads.items() if not name.startswith("valid")}
    run = train_trees(tmp_path / "run", files, steps=2)
    sources = [pair.source for pair in run.validation_pairs()]
    assert [line.tree for line in sources] == [heads_of(line.text) for line in sources]
    assert must_be_in_step(seen, run.path) > 10


def test_going_on_is_exact_and_other_heads_are_other_data(
    tmp_path: Path, with_heads: Corpus, seen: Seen
) -> None:
    train_trees(tmp_path / "whole", with_heads, steps=6)
    with toy.at_step(4, toy.crash), pytest.raises(toy.Crash):
        train_trees(tmp_path / "parts", with_heads, "training.save_every=2", steps=6)
    train_trees(tmp_path / "parts", with_heads, "training.save_every=2", steps=6)
    assert tensors(tmp_path / "parts", 6) == tensors(tmp_path / "whole", 6)
    lines = with_heads["trees"].read_text().splitlines()
    other = write_lines(tmp_path / "other", [" ".join("0" for _ in line.split()) for line in lines])
    with pytest.raises(UsageError, match="train files differ"):
        train_trees(tmp_path / "whole", {**with_heads, "trees": other}, steps=6)
    regard.train(run=tmp_path / "whole", quiet=True)


def test_a_bad_tree_stops_training_before_there_is_a_run(
    tmp_path: Path, with_heads: Corpus, seen: Seen
) -> None:
    lines = with_heads["valid_trees"].read_text().splitlines()
    bad = write_lines(tmp_path / "bad", [*lines[:7], "9 9", *lines[8:]])
    with pytest.raises(UsageError, match="bad:8 "):
        train_trees(tmp_path / "run", {**with_heads, "valid_trees": bad})
    assert not (tmp_path / "run").exists()
    assert not seen


def test_every_way_of_using_a_run_reads_the_heads(
    tmp_path: Path, with_heads: Corpus, seen: Seen
) -> None:
    run = train_trees(tmp_path / "run", with_heads, steps=1).path
    folder = with_heads["source"].parent
    source, target, trees = (folder / f"test.{name}" for name in ("source", "target", "trees"))
    test = Parallel(source, target, trees=trees)
    uses: list[Callable[[], Any]] = [
        lambda: regard.evaluate(run, test, say=lambda text: None),
        lambda: regard.evaluate(run),
        lambda: regard.score(run, test, say=lambda text: None),
        lambda: regard.compare([run, run], test, say=lambda text: None),
        lambda: regard.load(run)(line("ant bee cat")),
        lambda: regard.load(run)([line("ant bee"), "", line("cat")]),
    ]
    expected = [60, 40, 30, 60, 1, 2]
    seen.clear()
    for use, rows in zip(uses, expected, strict=True):
        use()
        assert must_be_in_step(seen, run) == rows


@pytest.mark.parametrize("from_file", [True, False])
def test_translating_on_the_command_line(
    tmp_path: Path,
    with_heads: Corpus,
    seen: Seen,
    from_file: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = train_trees(tmp_path / "run", with_heads, steps=1).path
    lines = ["ant bee cat", "", "dog ant", "hen"]
    source = write_lines(tmp_path / "source", lines)
    heads = write_heads(tmp_path / "heads", source)
    command = ["translate", str(run), "--workers=1"]
    given = [f"--input={source}"] if from_file else []

    def call(*more: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source.read_bytes())))
        seen.clear()
        capsys.readouterr()
        code = main([*command, *given, *more])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    code, out, _ = call(f"--trees={heads}")
    assert (code, len(out.splitlines())) == (0, 4)
    assert must_be_in_step(seen, run) == 3
    code, out, told = call()
    assert (code, out) == (2, "")
    assert "give --trees" in told
    write_lines(heads, ["2 3 0", "", "2 0", "0 1"])
    code, out, told = call(f"--trees={heads}")
    assert (code, out, seen) == (2, "", [])
    assert f"{heads}:4 has 2 heads, but its source has 1 word:" in told


def test_a_model_that_reads_heads_is_not_used_without_them(
    tmp_path: Path, corpus: Corpus, with_heads: Corpus, seen: Seen
) -> None:
    with pytest.raises(UsageError, match="give --trees"):
        train_trees(tmp_path / "run", corpus)
    part = {name: path for name, path in with_heads.items() if name != "valid_trees"}
    with pytest.raises(UsageError, match="give --valid-trees"):
        train_trees(tmp_path / "run", part)
    assert not (tmp_path / "run").exists()
    run = train_trees(tmp_path / "run", with_heads, steps=1).path
    files = Parallel(corpus["valid_source"], corpus["valid_target"])
    for use in (regard.evaluate, regard.score):
        with pytest.raises(UsageError, match="give --trees"):
            use(run, files)
    translate = regard.load(run)
    with pytest.raises(UsageError, match="give Line"):
        translate("ant")
    with pytest.raises(UsageError, match="give Line"):
        list(translate.score([("ant", "ANT")]))
    with pytest.raises(UsageError, match="Line 2 has 2 heads"):
        translate([Line("ant", (0,)), Line("bee", (0, 1))])
    with pytest.raises(UsageError, match="Line 2 has no tree"):
        translate([Line("ant", (0,)), Line("bee")])


def test_heads_for_a_model_that_has_no_use_for_them(
    tmp_path: Path, corpus: Corpus, with_heads: Corpus
) -> None:
    with pytest.raises(UsageError, match="remove --trees"):
        toy.train_small(tmp_path / "run", with_heads)
    with pytest.raises(UsageError, match="remove --valid-trees"):
        toy.train_small(tmp_path / "run", {**corpus, "valid_trees": with_heads["valid_trees"]})
    assert not (tmp_path / "run").exists()
    run = toy.train_small(tmp_path / "run", corpus, steps=1).path
    assert not Run.open(run).store("train").annotations
    heads = with_heads["valid_trees"]
    both = Parallel(corpus["valid_source"], corpus["valid_target"], trees=heads)
    for use in (regard.evaluate, regard.score):
        with pytest.raises(UsageError, match="remove --trees"):
            use(run, both)
    with pytest.raises(UsageError, match="remove --trees"):
        regard.compare([run, run], both)
    assert regard.load(run)(line("ant bee")) == regard.load(run)("ant bee")
    assert main(["translate", str(run), f"--trees={heads}"]) == 2
    assert isinstance(regard.load(run)("ant"), str)


def test_lines_that_are_too_long_are_read_with_the_heads_of_their_beginning(
    tmp_path: Path, with_heads: Corpus, seen: Seen
) -> None:
    translate = load_predictor(Run.open(train_trees(tmp_path / "run", with_heads, steps=1).path))
    translate.length_limit = 3
    seen.clear()
    translate(Line("bee cat dog eel", (4, 1, 2, 0)))
    (source,) = seen
    assert source.annotations["tree"].tolist() == [[-1, 0, 1, -1]]
    assert translate.truncated == 1


def test_the_toy_trees_differ() -> None:
    """Or the tests above would not see heads that went to another line."""
    lines = toy.some_lines(120, 10)
    assert len({heads_of(line) for line in lines}) > 10


def test_another_tree_gives_another_perplexity(tmp_path: Path, with_heads: Corpus) -> None:
    run = train_trees(tmp_path / "run", with_heads, steps=3).path
    folder = with_heads["source"].parent
    lines = (folder / "test.trees").read_text().splitlines()
    flat = write_lines(tmp_path / "flat", [" ".join("0" for _ in line.split()) for line in lines])
    found = [
        regard.evaluate(run, Parallel(folder / "test.source", folder / "test.target", trees=trees))
        for trees in (folder / "test.trees", flat)
    ]
    assert found[0]["perplexity"] > 1
    assert found[0]["perplexity"] != found[1]["perplexity"]
