"""Real processes that are asked to stop, or killed, in the middle of training."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
from toy import (
    journal,
    kill,
    saved_steps,
    small_command,
    start,
    strays,
    tensors,
    train_small,
    wait_for_step,
)

from regard.cli import main
from regard.training import signals
from regard.training.signals import StopSignals

Corpus = dict[str, Path]
STEPS = 250
SETTINGS = ("training.validate_every=50", "training.average.kind=last", "training.average.every=9")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    path = tmp_path_factory.mktemp("signals") / "undisturbed"
    return train_small(path, corpus, *SETTINGS, steps=STEPS, save_every=10).path


def command(run: Path, corpus: Corpus) -> list[str]:
    more = [part for setting in SETTINGS for part in ("--set", setting)]
    return small_command(run, corpus, "--steps", str(STEPS), "--save-every", "10", *more)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_saves_and_the_same_command_resumes(
    number: signal.Signals, tmp_path: Path, corpus: Corpus, undisturbed: Path
) -> None:
    run = tmp_path / "run"
    process = start(command(run, corpus))
    wait_for_step(process, run, random.randint(20, 120))
    process.send_signal(number)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 128 + number, said
    assert printed == ""
    assert "Traceback" not in said
    step = saved_steps(run)[-1]
    assert said.splitlines()[-1] == (
        f"regard: Saved at step {step:,}: run the same command to continue."
    )
    assert max(record["step"] for record in journal(run)) == step < STEPS
    assert main(command(run, corpus)) == 0
    assert tensors(run, STEPS) == tensors(undisturbed, STEPS)
    assert journal(run) == journal(undisturbed)


def test_kills_at_random_moments_change_nothing(
    tmp_path: Path, corpus: Corpus, undisturbed: Path
) -> None:
    run = tmp_path / "run"
    reached = 0
    for _ in range(3):
        process = start(command(run, corpus))
        wait_for_step(process, run, reached + random.randint(5, 50))
        time.sleep(random.random() / 50)
        kill(process)
        came_to = max(record["step"] for record in journal(run))
        reached = saved_steps(run)[-1] if saved_steps(run) else 0
        assert reached >= came_to - 10  # at most one interval is lost
    assert main(command(run, corpus)) == 0
    assert tensors(run, STEPS) == tensors(undisturbed, STEPS)
    assert journal(run) == journal(undisturbed)
    assert strays(run) == []


def test_two_processes_on_one_run_are_refused(
    tmp_path: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    process = start(command(run, corpus))
    wait_for_step(process, run, 1)
    try:
        assert main(command(run, corpus)) == 2
    finally:
        kill(process)
    assert "Another process is training" in capsys.readouterr().err


def test_a_signal_that_another_process_has_passed_on_already_is_not_a_second_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A scheduler may end the second machine of a run seconds after the first."""
    monkeypatch.setattr(signals, "REPEAT_SECONDS", -1)  # however soon it comes
    asked = StopSignals()
    with asked.handled():
        asked.request()
        signal.raise_signal(signal.SIGTERM)  # would end the process while it saves
        assert asked.number == signal.SIGTERM
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGTERM)
