"""Back-translation: synthetic pairs in order, tagged, and resumable to the same bytes."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from toy import (
    Crash,
    kill,
    some_lines,
    start,
    train_small,
    turned,
    write_corpus,
    write_lines,
)

import regard
from regard.cli import main
from regard.data.parallel import Parallel
from regard.errors import UsageError
from regard.runs import augment, resumable
from regard.runs.folder import Run
from regard.search.sample import Sample


@pytest.fixture(scope="module")
def reverse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from the target language of the corpus to its source language."""
    folder = tmp_path_factory.mktemp("backwards")
    corpus = write_corpus(folder)
    names = {"source": "target", "target": "source"}
    names |= {f"valid_{one}": f"valid_{other}" for one, other in names.items()}
    return train_small(folder / "run", {new: corpus[old] for new, old in names.items()}).path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    lines = [turned(line) for line in some_lines(60, seed=4)]
    lines[3] = lines[59] = ""
    return write_lines(tmp_path / "target", lines)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumable, "CHUNK", 16)


def stop_at(lines: int) -> Callable[[int], None]:
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if done >= lines:
            raise Crash

    return count


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "partial" in path.name)


@pytest.mark.parametrize("tag", [True, False])
def test_each_line_is_a_synthetic_pair(
    tag: bool, reverse: Path, target: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.tsv"
    option = [] if tag else ["--no-tag"]
    command = ["augment", str(reverse), "--target", str(target), "--output", str(out), *option]
    assert main(command) == 0
    lines = target.read_text().splitlines()
    sources = regard.load(reverse)(lines)
    begin = "<bt> " if tag else ""
    expected = [
        f"{begin}{source}\t{line}" if source else ""
        for source, line in zip(sources, lines, strict=True)
    ]
    assert out.read_text().splitlines() == expected
    assert [number for number, line in enumerate(expected) if not line] == [3, 59]
    assert left(tmp_path) == []


def test_samples_are_drawn_by_seed(reverse: Path, target: Path, tmp_path: Path) -> None:
    found = []
    for number, seed in enumerate((1, 1, 2)):
        out = tmp_path / f"{number}.tsv"
        regard.augment(reverse, target, output=out, search=Sample(seed=seed), workers=1)
        found.append(out.read_bytes())
    assert found[0] == found[1] != found[2]
    out = tmp_path / "by-command.tsv"
    command = ["augment", str(reverse), "--target", str(target), "--output", str(out)]
    assert main([*command, "--sample", "--seed=1", "--top-p=1", "--workers=1"]) == 0
    assert out.read_bytes() == found[0]


@pytest.mark.usefixtures("small_chunks")
def test_stopped_and_continued_gives_the_same_bytes(
    reverse: Path, target: Path, tmp_path: Path
) -> None:
    whole, out = tmp_path / "whole.tsv", tmp_path / "out.tsv"
    sample = Sample(seed=3)
    regard.augment(reverse, target, output=whole, search=sample, workers=1)
    with pytest.raises(Crash):
        regard.augment(reverse, target, output=out, search=sample, workers=1, count=stop_at(32))
    assert left(tmp_path) == ["out.tsv.partial", "out.tsv.partial.json"]
    assert not out.exists()
    with pytest.raises(UsageError, match="was started with a different model, text or settings"):
        regard.augment(reverse, target, output=out, search=sample, workers=1, tag=False)
    done: list[int] = []
    regard.augment(reverse, target, output=out, search=sample, workers=1, count=done.append)
    assert done == [32, 16, 12]  # nothing is translated twice
    assert out.read_bytes() == whole.read_bytes()
    assert left(tmp_path) == []


def test_killed_and_continued_gives_the_same_bytes(reverse: Path, tmp_path: Path) -> None:
    lines = [turned(line) for line in some_lines(3 * resumable.CHUNK, seed=6)]
    target, out = write_lines(tmp_path / "target", lines), tmp_path / "out.tsv"
    fixed = ["augment", str(reverse), "--target", str(target), "--beam=1", "--workers=1"]
    process = start([*fixed, "--output", str(out)])
    record = tmp_path / "out.tsv.partial.json"
    deadline = time.monotonic() + 120
    while not (record.exists() and json.loads(record.read_text())["lines"]):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    kill(process)
    assert left(tmp_path) == ["out.tsv.partial", "out.tsv.partial.json"]
    assert main([*fixed, "--output", str(out)]) == 0
    assert main([*fixed, "--output", str(tmp_path / "whole.tsv")]) == 0
    assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert len(out.read_bytes().splitlines()) == len(lines)


def test_compressed_text_is_read(reverse: Path, target: Path, tmp_path: Path) -> None:
    packed = tmp_path / "target.gz"
    packed.write_bytes(gzip.compress(target.read_bytes()))
    for path, out in ((target, "plain.tsv"), (packed, "packed.tsv")):
        regard.augment(reverse, path, output=tmp_path / out)
    assert (tmp_path / "packed.tsv").read_bytes() == (tmp_path / "plain.tsv").read_bytes()
    assert (tmp_path / "packed.tsv").read_text().startswith("<bt> ")


def test_a_run_is_trained_on_the_pairs(reverse: Path, target: Path, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    lines = {side: corpus[side].read_text().splitlines() for side in ("source", "target")}
    pairs = map("\t".join, zip(lines["source"], lines["target"], strict=True))
    real, synthetic = write_lines(tmp_path / "real.tsv", pairs), tmp_path / "synthetic.tsv"
    regard.augment(reverse, target, output=synthetic)
    run = regard.train(
        "tiny",
        Parallel(pairs=[real, synthetic]),
        valid=Parallel(corpus["valid_source"], corpus["valid_target"]),
        run=tmp_path / "run",
        steps=1,
        settings=["model.width=16", "model.layers=1", "tokenizer.vocabulary=300"],
        quiet=True,
    )
    tokenizer = Run.open(run.path).tokenizers().source
    plain, tagged = tokenizer.encode(["ant bee", "<bt> ant bee"])
    assert list(tagged[1:]) == list(plain)  # the tag is one piece


def test_wrong_input_is_refused_before_any_work(
    reverse: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(augment, "load_predictor", None)
    blank = write_lines(tmp_path / "blank", ["", " "])
    for text, out, named in (
        (blank, tmp_path / "out", "is empty"),
        (tmp_path / "gone", tmp_path / "out", "gone"),
        (target, target, "target"),
    ):
        with pytest.raises(UsageError, match=named):
            regard.augment(reverse, text, output=out)
    with pytest.raises(UsageError, match="one direction"):
        regard.augment(reverse, target, output=tmp_path / "out", languages=(None, "de"))
    assert left(tmp_path) == []
    assert not (tmp_path / "out").exists()
