"""Dependency trees from file to model, by every verb; a model without use for them stands in."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import toy
from regard.data.trees import word_heads
from toy import tensors, train_small, write_corpus, write_lines

import regard
from regard.cli import main
from regard.data.batch import Padded
from regard.errors import UsageError
from regard.models.transformer import TransformerEncoder
from regard.recipes import Config
from regard.runs.folder import Run
from regard.runs.load import load_predictor

Corpus = dict[str, Path]
Seen = list[Padded]


def heads_of(line: str) -> list[int]:
    """A tree that tells the lines of the toy language apart: every word hangs on the next 'ant',
    or on the word after it; the last one is the root."""
    words = line.split()
    found = []
    for place in range(len(words)):
        later = [at for at in range(place + 1, len(words)) if words[at] == "ant"]
        found.append(0 if place + 1 == len(words) else (later[0] if later else place + 1) + 1)
    return found


def write_heads(path: Path, source: Path) -> Path:
    lines = source.read_text().splitlines()
    return write_lines(path, (" ".join(map(str, heads_of(line))) for line in lines))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    files = write_corpus(folder)
    for part in ("train", "valid", "test"):
        write_heads(folder / f"{part}.heads", folder / f"{part}.source")
    return files


@pytest.fixture
def with_heads(corpus: Corpus) -> Corpus:
    folder = corpus["source"].parent
    heads = {"source_heads": "train.heads", "valid_source_heads": "valid.heads"}
    return {**corpus, **{name: folder / path for name, path in heads.items()}}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Every config reads heads, and what its encoder is given is kept here."""
    monkeypatch.setattr(Config, "reads_heads", property(lambda config: True))
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
        assert source.heads is not None
        for ids, heads, length in zip(
            source.values.tolist(), source.heads.tolist(), source.lengths, strict=True
        ):
            text = tokenizer.decode(ids[: length - 1])
            assert word_heads(heads[: length - 1]) == heads_of(text)
            rows += 1
    seen.clear()
    return rows


@pytest.mark.parametrize("settings", [(), ("tokenizer.kind=bpe", "tokenizer.sampling=0.2")])
def test_training_and_validating_read_the_heads(
    tmp_path: Path, with_heads: Corpus, seen: Seen, settings: tuple[str, ...]
) -> None:
    small = ("tokenizer.vocabulary=300", "training.validate_every=2", *settings)
    run = train_small(tmp_path / "run", with_heads, *small, steps=4)
    assert len(run.store("train")) == 120
    assert must_be_in_step(seen, run.path) > 40


def test_what_is_held_out_keeps_its_heads(tmp_path: Path, with_heads: Corpus, seen: Seen) -> None:
    files = {name: path for name, path in with_heads.items() if not name.startswith("valid")}
    run = train_small(tmp_path / "run", files, steps=2)
    sources, _ = run.validation_text()
    assert run.validation_heads() == [heads_of(line) for line in sources]
    assert must_be_in_step(seen, run.path) > 10


def test_going_on_is_exact_and_other_heads_are_other_data(
    tmp_path: Path, with_heads: Corpus, seen: Seen
) -> None:
    train_small(tmp_path / "whole", with_heads, steps=6)
    with toy.at_step(4, toy.crash), pytest.raises(toy.Crash):
        train_small(tmp_path / "parts", with_heads, "training.save_every=2", steps=6)
    train_small(tmp_path / "parts", with_heads, "training.save_every=2", steps=6)
    assert tensors(tmp_path / "parts", 6) == tensors(tmp_path / "whole", 6)
    lines = with_heads["source_heads"].read_text().splitlines()
    other = write_lines(tmp_path / "other", [" ".join("0" for _ in line.split()) for line in lines])
    with pytest.raises(UsageError, match="train files differ"):
        train_small(tmp_path / "whole", {**with_heads, "source_heads": other}, steps=6)
    regard.train(run=tmp_path / "whole", quiet=True)


def test_a_bad_tree_stops_training_before_there_is_a_run(
    tmp_path: Path, with_heads: Corpus, seen: Seen
) -> None:
    lines = with_heads["valid_source_heads"].read_text().splitlines()
    bad = write_lines(tmp_path / "bad", [*lines[:7], "9 9", *lines[8:]])
    with pytest.raises(UsageError, match="bad:8 "):
        train_small(tmp_path / "run", {**with_heads, "valid_source_heads": bad})
    assert not (tmp_path / "run").exists()
    assert not seen


def test_every_way_of_using_a_run_reads_the_heads(
    tmp_path: Path, with_heads: Corpus, seen: Seen
) -> None:
    run = train_small(tmp_path / "run", with_heads, steps=1).path
    folder = with_heads["source"].parent
    test = {name: folder / f"test.{name}" for name in ("source", "target")}
    test["source_heads"] = folder / "test.heads"
    uses: list[Callable[[], Any]] = [
        lambda: regard.evaluate(run, **test, say=lambda text: None),
        lambda: regard.evaluate(run),
        lambda: regard.score(run, **test, say=lambda text: None),
        lambda: regard.compare([run, run], **test, say=lambda text: None),
        lambda: regard.load(run)("ant bee cat", heads_of("ant bee cat")),
        lambda: regard.load(run)(["ant bee", "", "cat"], [[2, 0], [], [0]]),
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
    run = train_small(tmp_path / "run", with_heads, steps=1).path
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

    code, out, _ = call(f"--source-heads={heads}")
    assert (code, len(out.splitlines())) == (0, 4)
    assert must_be_in_step(seen, run) == 3
    code, out, told = call()
    assert (code, out) == (2, "")
    assert "give --source-heads" in told
    write_lines(heads, ["2 3 0", "", "2 0", "0 1"])
    code, out, told = call(f"--source-heads={heads}")
    assert (code, out, seen) == (2, "", [])
    assert f"{heads}:4 has 2 heads, but its source has 1 words" in told


def test_a_model_that_reads_heads_is_not_used_without_them(
    tmp_path: Path, corpus: Corpus, with_heads: Corpus, seen: Seen
) -> None:
    with pytest.raises(UsageError, match="give --source-heads"):
        train_small(tmp_path / "run", corpus)
    part = {name: path for name, path in with_heads.items() if name != "valid_source_heads"}
    with pytest.raises(UsageError, match="give --valid-source-heads"):
        train_small(tmp_path / "run", part)
    assert not (tmp_path / "run").exists()
    run = train_small(tmp_path / "run", with_heads, steps=1).path
    files = {"source": corpus["valid_source"], "target": corpus["valid_target"]}
    for use in (regard.evaluate, regard.score):
        with pytest.raises(UsageError, match="give --source-heads"):
            use(run, **files)
    translate = regard.load(run)
    with pytest.raises(UsageError, match="give heads"):
        translate("ant")
    with pytest.raises(UsageError, match="give heads"):
        list(translate.score([("ant", "ANT")]))
    with pytest.raises(UsageError, match="Line 2 has 2 heads"):
        translate(["ant", "bee"], [[0], [0, 1]])
    for heads in ([[0]], [[0], [0], [0]]):
        with pytest.raises(UsageError, match="trees than lines"):
            translate(["ant", "bee"], heads)


def test_heads_for_a_model_that_has_no_use_for_them(
    tmp_path: Path, corpus: Corpus, with_heads: Corpus
) -> None:
    with pytest.raises(UsageError, match="leave --source-heads out"):
        train_small(tmp_path / "run", with_heads)
    with pytest.raises(UsageError, match="leave --valid-source-heads out"):
        train_small(
            tmp_path / "run", {**corpus, "valid_source_heads": with_heads["valid_source_heads"]}
        )
    assert not (tmp_path / "run").exists()
    run = train_small(tmp_path / "run", corpus, steps=1).path
    assert Run.open(run).store("train").heads is None
    files = {"source": corpus["valid_source"], "target": corpus["valid_target"]}
    heads = with_heads["valid_source_heads"]
    for use in (regard.evaluate, regard.score):
        with pytest.raises(UsageError, match="leave --source-heads out"):
            use(run, **files, source_heads=heads)
    with pytest.raises(UsageError, match="leave --source-heads out"):
        regard.compare([run, run], **files, source_heads=heads)
    with pytest.raises(UsageError, match="leave heads out"):
        regard.load(run)("ant", [0])
    assert main(["translate", str(run), f"--source-heads={heads}"]) == 2
    assert isinstance(regard.load(run)("ant"), str)


def test_lines_that_are_too_long_are_read_with_the_heads_of_their_beginning(
    tmp_path: Path, with_heads: Corpus, seen: Seen
) -> None:
    translate = load_predictor(Run.open(train_small(tmp_path / "run", with_heads, steps=1).path))
    translate.length_limit = 3
    seen.clear()
    translate("bee cat dog eel", [4, 1, 2, 0])
    (source,) = seen
    assert source.heads is not None
    assert source.heads.tolist() == [[-1, 0, 1, -1]]
    assert translate.cut == 1


def test_the_toy_trees_differ() -> None:
    """Or the tests above would not see heads that went to another line."""
    lines = toy.some_lines(120, 10)
    assert len({tuple(heads_of(line)) for line in lines}) > 10


def test_syntax_positions_from_text_to_text(tmp_path: Path, with_heads: Corpus) -> None:
    run = train_small(tmp_path / "run", with_heads, "model.position=syntax", steps=3)
    translate = regard.load(run.path)
    assert isinstance(translate("ant bee", heads=[2, 0]), str)
    with pytest.raises(UsageError, match="dependency tree"):
        translate("ant bee")
    folder = with_heads["source"].parent
    files = {"source": folder / "test.source", "target": folder / "test.target"}
    found = regard.evaluate(run.path, **files, source_heads=folder / "test.heads")
    assert found["perplexity"] > 1
