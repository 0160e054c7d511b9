"""The CTranslate2 engine: the tokens of torch, converted once, remade when the weights change."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from folders import Trained
from toy import train_small, write_corpus

import regard
from regard.cli import main
from regard.errors import UsageError
from regard.interop.engine import converted, load_engine
from regard.predict import Prediction
from regard.runs.folder import Run

pytest.importorskip("ctranslate2", reason="the extra ctranslate2 installs it")


def quiet(text: str) -> None:
    pass


def predicted(run: Run, engine: Any, lines: list[str], **search: Any) -> list[Prediction]:
    chosen = run.config.search.changed(**search)
    return list(load_engine(run, engine, chosen, say=quiet).predict(lines))


@pytest.mark.parametrize("settings", [("model.norm=post",), ("model.norm=pre",)])
@pytest.mark.parametrize(
    "search", [{"beam": 1}, {"beam": 4, "best": 3}, {"beam": 4, "length_penalty": 0.5}]
)
def test_both_engines_find_the_same(
    settings: tuple[str, ...], search: dict[str, Any], trained: Trained, test_lines: list[str]
) -> None:
    run = trained(*settings)
    ours, theirs = (predicted(run, each, test_lines, **search) for each in ("torch", "ctranslate2"))
    for one, other in zip(ours, theirs, strict=True):
        assert [each.text for each in one.best] == [each.text for each in other.best]
        for mine, its in zip(one.best, other.best, strict=True):
            assert mine.log_probability == pytest.approx(its.log_probability, abs=1e-4)


def test_a_limit_on_the_length_cuts_off_the_same(post: Run, test_lines: list[str]) -> None:
    short = {"beam": 3, "max_length_ratio": 0.1, "max_length_extra": 2}
    ours, theirs = (predicted(post, each, test_lines, **short) for each in ("torch", "ctranslate2"))
    assert [each.text for each in ours] == [each.text for each in theirs]
    assert any(each.text for each in ours)


@pytest.mark.parametrize(
    "search",
    [
        {},
        {"max_length_ratio": 0.4, "max_length_extra": 2},
        {"max_length_ratio": 0.4, "max_length_extra": 2, "beam": 3, "finished": 5},
    ],
)
def test_a_line_alone_and_in_a_batch_gives_the_same(
    search: dict[str, Any], post: Run, test_lines: list[str]
) -> None:
    """Lines of different lengths have different limits, of which many are reached here."""
    engine = load_engine(post, "ctranslate2", post.config.search.changed(**search), say=quiet)
    lines = [*test_lines, *(f"{a} {b}" for a, b in pairwise(test_lines))]
    alone = [engine(line) for line in lines]
    assert engine(lines) == alone
    assert len(set(map(len, alone))) >= 4


def test_a_prefix_and_scores_are_the_same(post: Run, test_lines: list[str]) -> None:
    engines = [load_engine(post, each, say=quiet) for each in ("torch", "ctranslate2")]
    begun = ["ANT"] * len(test_lines)
    ours, theirs = ([each.text for each in one.predict(test_lines, begun)] for one in engines)
    assert ours == theirs
    pairs = list(zip(test_lines, ours, strict=True))
    first, second = (list(each.score(pairs)) for each in engines)
    assert [count for _, count in first] == [count for _, count in second]
    assert [total for total, _ in first] == pytest.approx([total for total, _ in second], abs=1e-3)


def test_a_prefix_beyond_the_last_position_is_refused(post: Run) -> None:
    engine = load_engine(post, "ctranslate2", post.config.search.changed(beam=1), say=quiet)
    with pytest.raises(UsageError, match=r"^The prefix of line 1 has [\d,]+ pieces, and"):
        list(engine.predict(["ant"], ["ANT " * 5000]))


def test_eight_bits_translate_almost_the_same(post: Run, test_lines: list[str]) -> None:
    ours = regard.load(post.path)(test_lines)
    theirs = load_engine(post, "ctranslate2", int8=True, say=quiet)(test_lines)
    same = sum(one == other for one, other in zip(ours, theirs, strict=True))
    assert same >= 0.7 * len(test_lines)


def test_a_run_is_converted_once_for_its_weights(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    run, said = train_small(tmp_path / "run", corpus, steps=2), list[str]()
    folder = converted(run, False, said.append)
    assert len(said) == 1
    assert converted(run, False, said.append) == folder
    assert len(said) == 1
    (folder / "model.bin").write_bytes(b"damaged")
    assert converted(run, False, said.append) == folder
    assert len(said) == 2
    stale = folder.parent / f".{folder.name}.1.tmp"
    stale.mkdir()  # of a process that was killed
    run = regard.train(run=tmp_path / "run", steps=4, more=True, quiet=True)
    other = converted(run, False, said.append)
    assert (other != folder, folder.exists(), len(said)) == (True, False, 3)
    assert not stale.exists()


def test_a_run_that_cannot_be_written_is_converted_each_time(tmp_path: Path) -> None:
    run, said = train_small(tmp_path / "run", write_corpus(tmp_path), steps=2), list[str]()
    (run.path / "engines").write_text("no folder can be made here")
    engine = load_engine(run, "ctranslate2", say=said.append)
    assert said[-1] == f"The conversion is not kept, since {run.path} cannot be written."
    assert isinstance(engine("ant bee"), str)


def test_the_verb_translates_with_it(
    post: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], test_lines: list[str]
) -> None:
    given = ["translate", str(post.path), "--input", str(post.path.parent / "test.source")]
    for engine in ("torch", "ctranslate2"):
        assert main([*given, "--engine", engine, "--output", str(tmp_path / engine)]) == 0
    assert (tmp_path / "torch").read_text() == (tmp_path / "ctranslate2").read_text()
    capsys.readouterr()
    for wrong, named in (
        (["--engine", "onnx"], "choose torch or ctranslate2"),
        (["--engine", "ctranslate2", "--sample"], "--sample needs --engine torch"),
        (["--engine", "ctranslate2", "--shortlist", "5"], "--shortlist needs --engine torch"),
        (["--engine", "ctranslate2", "--alignments", "x"], "--alignments"),
    ):
        assert main([*given, *wrong]) != 0
        assert named in capsys.readouterr().err
