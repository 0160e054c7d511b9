"""Curves for TensorBoard beside the journal: the same numbers, each step once."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest
from toy import Crash, at_step, crash, tensors, train_small, write_corpus

import regard
from regard.cli import main
from regard.errors import UsageError

OWN = ("training.validate_every=4", "training.save_every=4", "training.log_every=2")


def curves(run: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard reads, unpurged: every value that was written."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    found = defaultdict(list)
    for path in sorted((run / "tensorboard").iterdir()):
        for event in LegacyEventFileLoader(str(path)).Load():
            for value in event.summary.value:
                found[value.tag].append((event.step, value.simple_value))
    return found


def recorded(run: Path, event: str, name: str) -> list[tuple[int, float]]:
    journal = regard.train(run=run, quiet=True).journal
    return [(each["step"], each[name]) for each in journal if each["event"] == event]


def test_the_curves_are_those_of_the_journal_and_resuming_repeats_none(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    run = tmp_path / "run"
    with pytest.raises(Crash), at_step(11, crash):
        train_small(run, corpus, *OWN, steps=16, log="tensorboard")
    assert [step for step, _ in curves(run)["training/loss"]] == [2, 4, 6, 8, 10]
    train_small(run, corpus, *OWN, steps=16, log="tensorboard")
    found = curves(run)
    names = ("training/loss", "training/rate", "training/tokens_per_second")
    assert set(found) == {*names, "validation/loss", "validation/bleu"}
    for tag, values in found.items():
        part, name = tag.split("/")
        event = "train" if part == "training" else part
        assert values == [
            (step, pytest.approx(value)) for step, value in recorded(run, event, name)
        ]
        assert len({step for step, _ in values}) == len(values)
    assert len(found["training/loss"]) == 8
    plain = train_small(tmp_path / "plain", corpus, *OWN, steps=16)
    assert tensors(plain.path, 16) == tensors(run, 16)


def test_a_finished_run_can_be_logged_afterwards(tmp_path: Path) -> None:
    run = train_small(tmp_path / "run", write_corpus(tmp_path), *OWN, steps=4)
    assert not (run.path / "tensorboard").exists()
    assert main(["train", f"--run={run.path}", "--log=tensorboard", "--quiet"]) == 0
    assert [step for step, _ in curves(run.path)["training/loss"]] == [2, 4]


def test_where_it_is_not_installed_one_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(UsageError, match=r"run pip install 'regard\[tensorboard\]', or remove"):
        train_small(tmp_path / "run", write_corpus(tmp_path), log="tensorboard")
    assert not (tmp_path / "run").exists()
