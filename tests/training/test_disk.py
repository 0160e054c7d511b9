"""A disk that is full, a folder that cannot be written to, a limit on the size of files."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from toy import at_step, journal, saved_steps, strays, tensors, terminate, train_small

from regard.errors import RegardError
from regard.runs.folder import Run
from regard.training.display import Display

Corpus = dict[str, Path]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    return train_small(tmp_path_factory.mktemp("disk") / "undisturbed", corpus).path


@contextmanager
def file_size_limit(step: int, size: int) -> Iterator[None]:
    """From a step on, no file may grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    try:
        with at_step(step, lower):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


LIMIT = 30_000
"""Bytes: enough for the journal and the weights, too few for the optimiser's memory."""


def assert_intact(run: Path, step: int) -> None:
    found = Run.open(run).checkpoints(say=pytest.fail).latest()
    assert found is not None
    assert found.step == step


def test_a_save_that_fails_is_said_and_training_goes_on(
    tmp_path: Path, corpus: Corpus, undisturbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    with file_size_limit(4, LIMIT), pytest.raises(RegardError, match="free some space"):
        train_small(run, corpus, save_every=3)
    assert saved_steps(run) == [3]
    assert_intact(run, 3)
    assert strays(run) == []
    train_small(run, corpus, save_every=3)
    assert tensors(run, 8) == tensors(undisturbed, 8)


def test_a_disk_that_was_full_for_a_while_costs_nothing(
    tmp_path: Path, corpus: Corpus, undisturbed: Path
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def raise_again() -> None:
        assert saved_steps(tmp_path / "run") == [2]
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    with file_size_limit(3, LIMIT), at_step(7, raise_again):
        train_small(tmp_path / "run", corpus, save_every=2)
    assert saved_steps(tmp_path / "run") == [2, 8]
    assert tensors(tmp_path / "run", 8) == tensors(undisturbed, 8)


def test_a_first_save_that_fails_does_not_claim_that_there_is_a_checkpoint(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = list[str]()
    monkeypatch.setattr(Display, "note", lambda self, text: notes.append(text))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def raise_again() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def lower_again() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))

    limited = file_size_limit(1, LIMIT)
    with limited, at_step(3, raise_again), at_step(5, lower_again), at_step(7, raise_again):
        train_small(tmp_path / "run", corpus, save_every=2)
    first, second = (note for note in notes if "Could not save" in note)
    assert "there is no checkpoint yet" in first
    assert "the last good checkpoint is kept" in second


def test_a_journal_that_cannot_be_written_is_said_once_and_costs_nothing(
    tmp_path: Path, corpus: Corpus, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit cuts the third record in half; later there is room again."""
    run, notes = tmp_path / "run", list[str]()
    monkeypatch.setattr(Display, "note", lambda self, text: notes.append(text))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def lower() -> None:
        size = (run / "journal.jsonl").stat().st_size + 20
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    def raise_again() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    try:
        with at_step(3, lower), at_step(6, raise_again):
            train_small(run, corpus)
    finally:
        raise_again()
    assert len([note for note in notes if "Cannot write the journal" in note]) == 1
    assert [r["step"] for r in journal(run) if r["event"] == "train"] == [1, 2, 6, 7, 8]
    assert tensors(run, 8) == tensors(undisturbed, 8)


def test_a_best_that_could_not_be_saved_does_not_count(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, before = tmp_path / "run", resource.getrlimit(resource.RLIMIT_FSIZE)
    scores = iter([1.0, 9.0, 0.5, 0.25])  # at steps 2, 4, 6 and 8
    monkeypatch.setattr("regard.runs.validate.quick_score", lambda *rest: next(scores))

    def raise_again() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    with file_size_limit(4, LIMIT), at_step(5, raise_again):
        train_small(run, corpus, "training.validate_every=2", save_every=1)
    assert saved_steps(run) == [2, 7, 8]
    best = Run.open(run).checkpoints(say=pytest.fail).best()
    assert best is not None
    assert best.step == 2


def test_a_signal_on_a_full_disk_does_not_claim_to_have_saved(
    tmp_path: Path, corpus: Corpus
) -> None:
    with file_size_limit(3, LIMIT), at_step(4, terminate), pytest.raises(RegardError) as failed:
        train_small(tmp_path / "run", corpus, save_every=2)
    assert "Could not save" in str(failed.value)
    assert_intact(tmp_path / "run", 2)


@contextmanager
def world_readable_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def test_a_read_only_folder_leaves_the_last_checkpoint_intact(
    corpus: Corpus, undisturbed: Path
) -> None:
    own = os.geteuid()
    with world_readable_folder() as folder:
        run = folder / "run"

        def forbid() -> None:
            (run / "journal.jsonl").chmod(0o666)
            (run / "checkpoints").chmod(0o555)
            if own == 0:
                os.seteuid(65534)  # root may write anywhere

        try:
            with at_step(4, forbid), pytest.raises(RegardError, match="Permission denied"):
                train_small(run, corpus, save_every=3)
        finally:
            os.seteuid(own)
        assert_intact(run, 3)
        assert saved_steps(run) == [3]
        (run / "checkpoints").chmod(0o755)
        train_small(run, corpus, save_every=3)
        assert tensors(run, 8) == tensors(undisturbed, 8)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 600 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "none", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_disk_that_is_really_full_leaves_the_last_checkpoint_intact(
    tiny_disk: Path, corpus: Corpus, undisturbed: Path
) -> None:
    run, ballast = tiny_disk / "run", tiny_disk / "ballast"

    def fill() -> None:
        free = shutil.disk_usage(tiny_disk).free
        ballast.write_bytes(bytes(max(0, free - 60_000)))

    with at_step(4, fill), pytest.raises(RegardError, match="No space left on device"):
        train_small(run, corpus, save_every=3)
    assert_intact(run, 3)
    ballast.unlink()
    train_small(run, corpus, save_every=3)
    assert tensors(run, 8) == tensors(undisturbed, 8)
    assert strays(run) == []
