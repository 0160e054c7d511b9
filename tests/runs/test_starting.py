"""Commands that start the same run at the same time, and folders that cannot hold a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy import train_small, write_corpus

from regard.errors import UsageError
from regard.recipes.config import Config
from regard.runs import make, train
from regard.runs.average import average
from regard.runs.folder import Run

Corpus = dict[str, Path]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def after(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, happens: Callable[[], object]):
    """Let something happen each time a function returns."""
    original = getattr(target, name)

    def call(*arguments: Any) -> Any:
        found = original(*arguments)
        happens()
        return found

    monkeypatch.setattr(target, name, call)


def test_no_other_process_can_take_a_run_that_is_being_created(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the one that comes too late would remove what the other has begun."""
    run = tmp_path / "run"

    def try_to_take() -> None:
        with pytest.raises(UsageError, match="Another process is training"), Run.locked(run):
            pass

    after(monkeypatch, Run, "create", try_to_take)
    train_small(run, corpus, steps=1)


def test_a_run_that_another_process_has_started_meanwhile_is_left_alone(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, locks = tmp_path / "run", []
    config: Config = train_small(tmp_path / "finished", corpus, steps=1).config

    def start() -> None:
        locks.append(Run.locked(run))
        locks[-1].__enter__()
        Run.create(run, config).save_facts("data", {})

    after(monkeypatch, train, "read_data", start)
    with pytest.raises(UsageError, match="Another process is training"):
        train_small(run, corpus, steps=1)
    assert Run.open(run).config == config
    locks[0].__exit__(None, None, None)
    monkeypatch.undo()
    train_small(run, corpus, steps=1)


def test_a_run_that_was_started_while_others_were_averaged_is_left_alone(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, first = tmp_path / "run", train_small(tmp_path / "first", corpus, steps=1)
    after(monkeypatch, make, "_save_weights", lambda: Run.create(run, first.config))
    with pytest.raises(UsageError, match="holds other files"):
        average(first.path, run=run, last=1)
    assert Run.open(run).origin is None
    assert {each.name for each in tmp_path.iterdir()} == {"first", "run"}


def test_a_folder_whose_name_no_weights_can_be_read_by_is_refused(
    tmp_path: Path, corpus: Corpus
) -> None:
    """safetensors writes under any name, and reads under names in UTF-8."""
    run = tmp_path / os.fsdecode(b"run-\xff")
    with pytest.raises(UsageError, match="is not UTF-8"):
        train_small(run, corpus, steps=1)
    assert not run.exists()
