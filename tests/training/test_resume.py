"""An interrupted run resumes as if nothing had happened, bit for bit."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from miniatures import MEMBERS, files_for, settings_for
from toy import (
    Crash,
    at_step,
    crash,
    journal,
    parallel,
    saved_steps,
    strays,
    tensors,
    terminate,
    train_small,
)

import regard
import regard.training.checkpoint
from regard.data.batch import Batch
from regard.data.store import by_length
from regard.errors import Interrupted
from regard.recipes import RECIPES
from regard.training.settings import TrainingSettings

Corpus = dict[str, Path]


@pytest.mark.parametrize(
    ("model", "kind"), [pytest.param(model, kind, id=name) for name, model, kind in MEMBERS]
)
def test_resumed_equals_undisturbed_for_every_architecture(
    model: Any, kind: str, tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings_for(model, kind)
    monkeypatch.setitem(RECIPES, "miniature", lambda: config)
    files = files_for(config, corpus, tmp_path)

    def train(name: str) -> None:
        regard.train("miniature", run=tmp_path / name, steps=10, quiet=True, **parallel(files))

    train("undisturbed")
    with at_step(6, crash), pytest.raises(Crash):
        train("broken")
    assert saved_steps(tmp_path / "broken") == [4]
    with at_step(3, terminate), pytest.raises(Interrupted):
        train("broken")
    assert saved_steps(tmp_path / "broken") == [4, 7]
    train("broken")
    assert tensors(tmp_path / "broken", 10) == tensors(tmp_path / "undisturbed", 10)
    assert journal(tmp_path / "broken") == journal(tmp_path / "undisturbed")
    assert strays(tmp_path / "broken") == []


def progress(run: Path, step: int) -> dict[str, Any]:
    path = run / "checkpoints" / f"step-{step}" / "progress.json"
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def test_resuming_at_any_step_even_at_the_border_of_a_window_or_an_epoch(
    tmp_path: Path, corpus: Corpus
) -> None:
    settings = (
        "batch.window=30",
        "batch.tokens=80",
        "training.dropout_start=0.3",
        "training.dropout_ramp_epochs=1",
    )
    train_small(tmp_path / "undisturbed", corpus, *settings, steps=12)
    offsets = []
    for step in range(1, 12):
        with at_step(1, terminate), pytest.raises(Interrupted):
            train_small(tmp_path / "broken", corpus, *settings, steps=12)
        offsets.append(progress(tmp_path / "broken", step)["offset"])
    train_small(tmp_path / "broken", corpus, *settings, steps=12)
    assert tensors(tmp_path / "broken", 12) == tensors(tmp_path / "undisturbed", 12)
    assert journal(tmp_path / "broken") == journal(tmp_path / "undisturbed")
    assert {"epoch": 1, "window": 0, "batch": 0} in offsets  # the border of an epoch
    assert any(each["window"] and not each["batch"] for each in offsets)  # of a window
    assert any(each["batch"] for each in offsets)  # neither


def test_dropout_can_grow_from_nothing_to_all_of_it(tmp_path: Path, corpus: Corpus) -> None:
    variants = {"none": ("0", "1"), "growing": ("0.5", "0"), "full": ("0.5", "1")}
    losses = {}
    for name, (most, start) in variants.items():
        settings = (f"model.dropout={most}", f"training.dropout_start={start}")
        few_batches = ("batch.tokens=200", "training.dropout_ramp_epochs=1")
        train_small(tmp_path / name, corpus, *settings, *few_batches, steps=6)
        losses[name] = [each["loss"] for each in journal(tmp_path / name) if "rate" in each]
    assert losses["growing"][0] == losses["none"][0] != losses["full"][0]
    assert losses["growing"][-1] != losses["none"][-1]
    from_half = TrainingSettings(dropout_start=0.5, dropout_ramp_epochs=4)
    assert [from_half.dropout_at(epoch) for epoch in (0, 2, 4, 9)] == [0.5, 0.75, 1.0, 1.0]


def test_a_crash_before_the_first_save_begins_again_without_a_trace(
    tmp_path: Path, corpus: Corpus
) -> None:
    train_small(tmp_path / "undisturbed", corpus)
    with at_step(5, crash), pytest.raises(Crash):
        train_small(tmp_path / "broken", corpus)
    assert saved_steps(tmp_path / "broken") == []
    train_small(tmp_path / "broken", corpus)
    assert tensors(tmp_path / "broken", 8) == tensors(tmp_path / "undisturbed", 8)
    assert journal(tmp_path / "broken") == journal(tmp_path / "undisturbed")


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    tmp_path: Path, corpus: Corpus
) -> None:
    for name, seed in (("first", 3), ("second", 3), ("other", 4)):
        train_small(tmp_path / name, corpus, seed=seed)
    assert tensors(tmp_path / "first", 8) == tensors(tmp_path / "second", 8)
    other = tensors(tmp_path / "other", 8)
    assert all(other[name] != data for name, data in tensors(tmp_path / "first", 8).items())


def test_a_signal_in_the_middle_of_a_validation_ends_it_and_it_is_done_on_resuming(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("training.validate_every=3", "training.patience=9")
    train_small(tmp_path / "undisturbed", corpus, *settings)
    finished = []

    def interrupted(*arguments: Any) -> Iterator[Batch]:
        for batch in by_length(*arguments):
            terminate()
            yield batch
            finished.append("the validation continued")

    with monkeypatch.context() as patch:
        patch.setattr("regard.runs.validate.by_length", interrupted)
        with pytest.raises(Interrupted):
            train_small(tmp_path / "broken", corpus, *settings)
    assert finished == []
    assert saved_steps(tmp_path / "broken") == [3]
    assert progress(tmp_path / "broken", 3)["due"]
    with at_step(3, terminate), pytest.raises(Interrupted):  # at a step that is to be validated
        train_small(tmp_path / "broken", corpus, *settings)
    assert saved_steps(tmp_path / "broken") == [3, 6]
    assert [r["step"] for r in journal(tmp_path / "broken") if r["event"] == "validation"] == [3]
    train_small(tmp_path / "broken", corpus, *settings)
    assert tensors(tmp_path / "broken", 8) == tensors(tmp_path / "undisturbed", 8)
    assert journal(tmp_path / "broken") == journal(tmp_path / "undisturbed")


def test_a_signal_at_the_last_step_leaves_only_its_validation_to_do(
    tmp_path: Path, corpus: Corpus
) -> None:
    train_small(tmp_path / "undisturbed", corpus)
    with at_step(8, terminate), pytest.raises(Interrupted):
        train_small(tmp_path / "broken", corpus)
    with at_step(1, crash):  # no step is taken any more
        train_small(tmp_path / "broken", corpus)
    assert progress(tmp_path / "broken", 8)["finished"]
    assert journal(tmp_path / "broken") == journal(tmp_path / "undisturbed")


def test_a_second_signal_stops_at_once_but_a_doubled_one_does_not(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`timeout` sends the same signal twice within a moment."""

    def twice() -> None:
        terminate()
        terminate()

    with at_step(2, twice), pytest.raises(Interrupted):
        train_small(tmp_path / "doubled", corpus)
    assert saved_steps(tmp_path / "doubled") == [2]
    clock = iter([0.0, 5.0])
    with monkeypatch.context() as patch, at_step(2, twice):
        # The module's own clock: other threads keep reading the real one.
        patch.setattr("regard.training.signals.time", SimpleNamespace(monotonic=clock.__next__))
        with pytest.raises(SystemExit) as ended:
            train_small(tmp_path / "second", corpus)
    assert ended.value.code == 128 + signal.SIGTERM
    assert saved_steps(tmp_path / "second") == []


def test_a_step_is_saved_once_however_many_reasons_there_are(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    save = regard.training.checkpoint.Checkpoints.save

    def note(self: Any, step: int, *rest: Any) -> None:
        steps.append(step)
        save(self, step, *rest)

    monkeypatch.setattr(regard.training.checkpoint.Checkpoints, "save", note)
    validated = ("training.validate_every=3", "training.metric=loss")
    train_small(tmp_path / "run", corpus, *validated, save_every=3, steps=9)
    assert steps == [3, 6, 9, 9]  # the last before and after its validation
    steps.clear()
    with at_step(4, terminate), pytest.raises(Interrupted):
        train_small(tmp_path / "stopped", corpus, save_every=4)
    assert steps == [4]


def test_early_stopping_ends_the_run_for_good_and_keeps_the_best(
    tmp_path: Path, corpus: Corpus
) -> None:
    """Of equal scores the one with the lower loss is better, and such a rate makes it rise."""
    settings = (
        "training.validate_every=2",
        "training.patience=3",
        "training.metric=exact",
        "training.optimizer.rate=0.5",
    )
    run = train_small(tmp_path / "run", corpus, *settings, steps=100, save_every=1)
    found = {
        record["step"]: (record["exact"], -record["loss"])
        for record in journal(run.path)
        if record["event"] == "validation"
    }
    best = run.checkpoints().best()
    assert best is not None
    assert found[best.step] == max(found.values())
    last = best.step + 2 * 3
    assert max(found) == last < 100
    assert saved_steps(run.path) == [best.step, last - 1, last]
    assert progress(run.path, last)["finished"]
    before = {path: path.read_bytes() for path in run.path.rglob("*.safetensors")}
    with at_step(1, crash):
        train_small(tmp_path / "run", corpus, *settings, steps=100, save_every=1)
    assert {path: path.read_bytes() for path in run.path.rglob("*.safetensors")} == before


def test_the_best_by_loss_is_the_lowest(tmp_path: Path, corpus: Corpus) -> None:
    settings = ("training.validate_every=2", "training.metric=loss", "training.keep=9")
    run = train_small(tmp_path / "run", corpus, *settings, "training.optimizer.rate=0.5", steps=20)
    found = {r["step"]: r["loss"] for r in journal(run.path) if r["event"] == "validation"}
    best = run.checkpoints().best()
    assert best is not None
    assert len(found) == 10
    assert found[best.step] == min(found.values())
    assert best.step != 20  # such a rate makes it worse again, or this test shows nothing


def test_a_score_that_is_not_a_number_is_never_the_best(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([float("nan"), 1.0, float("nan"), 0.5])
    monkeypatch.setattr("regard.runs.validate.quick_score", lambda *arguments: next(scores))
    run = train_small(tmp_path / "run", corpus, "training.validate_every=2")
    best = run.checkpoints().best()
    assert best is not None
    assert best.step == 4


def test_training_works_in_a_thread_where_signals_cannot_be_caught(
    tmp_path: Path, corpus: Corpus
) -> None:
    thread = threading.Thread(target=train_small, args=(tmp_path / "run", corpus))
    thread.start()
    thread.join()
    assert saved_steps(tmp_path / "run") == [8]


def test_the_handlers_of_signals_are_put_back(tmp_path: Path, corpus: Corpus) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    train_small(tmp_path / "run", corpus)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_corrupt_checkpoint_costs_one_interval_and_changes_nothing(
    tmp_path: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    train_small(tmp_path / "undisturbed", corpus)
    with at_step(7, crash), pytest.raises(Crash):
        train_small(tmp_path / "broken", corpus, save_every=2)
    corrupt = tmp_path / "broken" / "checkpoints" / "step-6" / "optimizer.safetensors"
    corrupt.write_bytes(corrupt.read_bytes()[:100])
    regard.train(run=tmp_path / "broken")
    said = capsys.readouterr().err
    assert "step-6/optimizer.safetensors is corrupt" in said.replace("\n", "")
    assert "at step 4" in said
    assert tensors(tmp_path / "broken", 8) == tensors(tmp_path / "undisturbed", 8)
    assert journal(tmp_path / "broken") == journal(tmp_path / "undisturbed")
