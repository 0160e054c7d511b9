"""Two processes under torchrun: the same gradients as one, and a lost process costs nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import safetensors.torch
import torch
from ranks import STEPS, children, finish, launch
from toy import journal, output, saved_steps, strays, tensors, wait_for_step

Corpus = dict[str, Path]


@pytest.fixture(scope="module", params=["adamw", "muon"])
def optimizer(request: pytest.FixtureRequest) -> str:
    """As a setting."""
    return f"training.optimizer.kind={request.param}"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus, optimizer: str) -> Path:
    """An undisturbed run of two processes."""
    run = tmp_path_factory.mktemp("ranks") / "two"
    check_threads(finish(launch(run, corpus, 2, optimizer)), 2)
    return run


def check_threads(said: str, processes: int) -> None:
    """A thread of gloo that outlives its group aborts the process now and then."""
    assert said.count("threads at the end:") >= processes
    assert "gloo" not in said


def test_two_processes_compute_what_one_computes(
    tmp_path: Path, corpus: Corpus, optimizer: str, two: Path
) -> None:
    one = tmp_path / "one"
    finish(launch(one, corpus, 1, optimizer))
    first = safetensors.torch.load_file(f"{one}.gradients")
    second = safetensors.torch.load_file(f"{two}.gradients")
    assert first.keys() == second.keys()
    assert sum(float(each.abs().sum()) for each in first.values()) > 1
    for name, gradient in first.items():
        torch.testing.assert_close(second[name], gradient, rtol=0, atol=1e-6)
    for before, after in zip(journal(one)[:10], journal(two)[:10], strict=True):
        assert after["loss"] == pytest.approx(before["loss"], abs=1e-5)
    assert validations(two) == pytest.approx(validations(one), abs=1e-2)
    assert saved_steps(two) == saved_steps(one) == [140, STEPS]


def validations(run: Path) -> list[float]:
    found = [record["loss"] for record in journal(run) if record["event"] == "validation"]
    assert len(found) == 4
    return found


def test_a_signal_saves_a_lost_process_is_replaced_and_the_end_is_the_same(
    tmp_path: Path, corpus: Corpus, optimizer: str, two: Path
) -> None:
    run = tmp_path / "run"
    process = launch(run, corpus, 2, optimizer)
    wait_for_step(process, run, 30)
    process.send_signal(signal.SIGTERM)
    said = output(process)
    assert process.returncode != 0
    step = saved_steps(run)[-1]
    check_threads(said, 2)
    assert f"Saved at step {step}" in said
    assert max(record["step"] for record in journal(run)) == step < STEPS
    process = launch(run, corpus, 2, optimizer)
    wait_for_step(process, run, step + 25)
    workers = children(process)
    assert len(workers) == 2
    os.kill(workers[step % 2], signal.SIGKILL)
    said = finish(process)
    check_threads(said, 2)
    assert "Resuming" in said
    assert tensors(run, STEPS) == tensors(two, STEPS)
    assert journal(run) == journal(two)
    assert strays(run) == []


def test_all_processes_stop_early_together(tmp_path: Path, corpus: Corpus) -> None:
    wild = ("training.optimizer.rate=1", "training.validate_every=5", "training.patience=1")
    finish(launch(tmp_path / "run", corpus, 2, *wild))
    assert saved_steps(tmp_path / "run")[-1] < STEPS


@pytest.mark.parametrize(("processes", "setting"), [(2, "shard=true"), (1, "processes=2")])
def test_no_thread_of_a_group_outlives_it(
    processes: int, setting: str, tmp_path: Path, corpus: Corpus
) -> None:
    """Of a sharded model, and of processes that regard starts."""
    said = finish(launch(tmp_path / "run", corpus, processes, f"training.{setting}"))
    check_threads(said, processes)


def test_a_sharded_run_reports_a_lost_process_in_one_sentence_and_leaves_no_thread(
    tmp_path: Path, corpus: Corpus
) -> None:
    run = tmp_path / "run"
    process = launch(run, corpus, 1, "training.shard=true", "training.processes=2")
    wait_for_step(process, run, 20)
    (peer,) = children(process)
    os.kill(peer, signal.SIGKILL)
    said = output(process)
    assert process.returncode == 1
    assert "regard: Another process of this run was lost: run the same command again" in said
    assert "Traceback" not in said
    check_threads(said, 1)
