"""Distillation: the teacher's translations in order, resumable to the same bytes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy import (
    SMALL,
    Crash,
    crash,
    parallel,
    some_lines,
    train_small,
    turned,
    write_corpus,
    write_lines,
)

import regard
from regard import predict
from regard.cli import main
from regard.errors import UsageError
from regard.runs import distill, resumable


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    return train_small(folder / "run", write_corpus(folder), steps=12).path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    lines = some_lines(60, seed=4)
    lines[3] = lines[59] = ""
    return write_lines(tmp_path / "source", lines)


@pytest.fixture(autouse=True)
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


def test_each_line_is_what_the_teacher_says(teacher: Path, source: Path, tmp_path: Path) -> None:
    regard.distill(teacher, regard.Parallel(source), output=tmp_path / "out")
    found = (tmp_path / "out").read_text().splitlines()
    lines = source.read_text().splitlines()
    assert len(found) == 60
    assert [number for number, line in enumerate(found) if not line] == [3, 59]
    assert found == regard.load(teacher)(lines)
    assert left(tmp_path) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_and_continued_gives_the_same_bytes(
    workers: int, teacher: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict, "POOL_MIN_LINES", 14)  # the last chunk is too small for a pool
    data, out = regard.Parallel(source), tmp_path / "out"
    regard.distill(teacher, data, output=tmp_path / "whole", workers=workers)
    with pytest.raises(Crash):
        regard.distill(teacher, data, output=out, workers=workers, count=stop_at(32))
    assert left(tmp_path) == ["out.partial", "out.partial.json"]
    assert not (tmp_path / "out").exists()
    with (tmp_path / "out.partial").open("ab") as stream:
        stream.write(b"half of the next chu")  # a kill between writing and recording it
    done: list[int] = []
    regard.distill(teacher, data, output=out, workers=workers, count=done.append)
    assert done == [32, 16, 12]  # nothing is translated twice
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    assert left(tmp_path) == []


def test_lines_that_were_truncated_before_the_work_was_stopped_are_reported(
    teacher: Path, tmp_path: Path
) -> None:
    lines = some_lines(60, seed=4)
    lines[2] = lines[40] = "ant " * 1001
    data = regard.Parallel(write_lines(tmp_path / "source", lines))
    out, notes = tmp_path / "out", list[str]()
    with pytest.raises(Crash):
        regard.distill(teacher, data, output=out, count=stop_at(32))
    regard.distill(teacher, data, output=out, say=notes.append)
    assert notes == ["Truncated 2 long lines to 1,000 pieces."]


def test_what_was_begun_otherwise_is_not_continued(
    teacher: Path, source: Path, tmp_path: Path
) -> None:
    with pytest.raises(Crash):
        regard.distill(teacher, regard.Parallel(source), output=tmp_path / "out", count=stop_at(16))
    before = (tmp_path / "out.partial").read_bytes()
    other = write_lines(tmp_path / "other", some_lines(60, seed=5))
    with pytest.raises(UsageError, match="was started with a different model"):
        regard.distill(teacher, regard.Parallel(other), output=tmp_path / "out")
    with (tmp_path / "out.partial").open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="Another process"):
            regard.distill(teacher, regard.Parallel(source), output=tmp_path / "out")
    assert (tmp_path / "out.partial").read_bytes() == before


def test_a_file_that_another_process_completes_meanwhile_is_left_alone(
    teacher: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, lock = tmp_path / "out", fcntl.flock
    (tmp_path / "out.partial").write_bytes(b"done\n")

    def complete_first(*arguments: Any) -> None:
        os.replace(tmp_path / "out.partial", output)
        lock(*arguments)

    monkeypatch.setattr(fcntl, "flock", complete_first)
    with pytest.raises(UsageError, match="Another process"):
        regard.distill(teacher, regard.Parallel(source), output=output)
    assert output.read_bytes() == b"done\n"


def test_a_kill_at_the_very_end_is_no_reason_to_refuse(
    teacher: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has its name already, and the record of the progress is still there."""
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: crash())
    with pytest.raises(Crash):
        regard.distill(teacher, regard.Parallel(source), output=tmp_path / "out")
    monkeypatch.undo()
    done = (tmp_path / "out").read_bytes()
    assert left(tmp_path) == ["out.partial.json"]
    regard.distill(teacher, regard.Parallel(source), output=tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == done
    assert left(tmp_path) == []


def test_a_line_that_is_refused_has_its_number_in_any_chunk(source: Path, tmp_path: Path) -> None:
    """A tagger must read the whole line."""
    settings = [each for each in SMALL if "tokenizer" not in each]
    corpus = parallel(write_corpus(tmp_path / "corpus"))
    limited = [*settings, "model.position=learned", "model.max_length=8"]
    regard.train("tagger", run=tmp_path / "tagger", steps=1, settings=limited, quiet=True, **corpus)
    lines = source.read_text().splitlines()
    write_lines(source, [*lines[:40], "ant " * 9, *lines[40:]])
    with pytest.raises(UsageError, match=r"^Line 41 has \d+ pieces"):
        regard.distill(tmp_path / "tagger", regard.Parallel(source), output=tmp_path / "out")


def test_the_original_targets_score_the_teacher(
    teacher: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = write_lines(tmp_path / "target", map(turned, source.read_text().splitlines()))
    files = ["--source", str(source), "--target", str(target), "--output", str(tmp_path / "out")]
    assert main(["distill", str(teacher), *files, "--beam", "2"]) == 0
    printed = capsys.readouterr().out
    kept = [line for line in source.read_text().splitlines() if line]
    found = [line for line in (tmp_path / "out").read_text().splitlines() if line]
    import sacrebleu

    expected = sacrebleu.corpus_bleu(found, [[turned(line) for line in kept]]).score
    assert printed.startswith(f"BLEU {expected:.2f}  [")


def test_wrong_input_is_refused_before_any_work(
    teacher: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distill, "load_predictor", None)
    short = write_lines(tmp_path / "short", ["one"])
    empty = write_lines(tmp_path / "empty", [])
    for data, named in (
        (regard.Parallel(source, short), "short ends before line 2"),
        (regard.Parallel(short, source), "short ends before line 2"),
        (regard.Parallel([source], [short]), f"^{short} ends before line 2 of {source}:"),
        (regard.Parallel(empty), "is empty"),
        (regard.Parallel(pairs=source), "--source"),
        (regard.Parallel(source, trees=source), "does not read"),
    ):
        with pytest.raises(UsageError, match=named):
            regard.distill(teacher, data, output=tmp_path / "out")
    assert left(tmp_path) == []
