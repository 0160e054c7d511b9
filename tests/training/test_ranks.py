"""Two processes under torchrun: the same gradients as one, and a lost process costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from toy import (
    journal,
    output,
    saved_steps,
    small_command,
    strays,
    tensors,
    wait_for_step,
)

Corpus = dict[str, Path]
SCRIPT = Path(__file__).with_name("ranks_script.py")
BUDGET = 400
STEPS = 160
"""When early stopping ends it: the score of so few steps is 0 each time."""

SETTINGS = (
    "model.dropout=0",
    "training.optimizer.clip=0",
    "training.optimizer.epsilon=0.001",  # so that Adam does not magnify the last digits
    "training.accumulate=2",
    "training.validate_every=40",
    "training.metric=exact",
    "training.patience=3",
)


def command(run: Path, corpus: Corpus, ranks: int, *more: str) -> list[str]:
    chosen = [part for setting in SETTINGS for part in ("--set", setting)]
    arguments = small_command(run, corpus, "--steps", str(BUDGET), *chosen, *more)
    arguments += ["--save-every", "20"]
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--max-restarts=1"]
    address = ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]
    # After "--" torchrun does not take our --run for its own --run-path.
    several = [*launcher, *address, "--"] if ranks > 1 else []
    return [sys.executable, *several, str(SCRIPT), *arguments]


def begin(run: Path, corpus: Corpus, ranks: int, *more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "GRADIENTS": str(run) + ".gradients", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command(run, corpus, ranks, *more),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    said = output(process)
    assert process.returncode == 0, said
    return said


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that torchrun started."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(number) for number in path.read_text().split()]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    """An undisturbed run of two processes."""
    run = tmp_path_factory.mktemp("ranks") / "two"
    finish(begin(run, corpus, 2))
    return run


def test_two_processes_compute_what_one_computes(tmp_path: Path, corpus: Corpus, two: Path) -> None:
    one = tmp_path / "one"
    finish(begin(one, corpus, 1))
    first = safetensors.torch.load_file(f"{one}.gradients")
    second = safetensors.torch.load_file(f"{two}.gradients")
    assert first.keys() == second.keys()
    assert sum(float(each.abs().sum()) for each in first.values()) > 1
    for name, gradient in first.items():
        torch.testing.assert_close(second[name], gradient, rtol=0, atol=1e-6)
    for before, after in zip(journal(one)[:10], journal(two)[:10], strict=True):
        assert after["loss"] == pytest.approx(before["loss"], abs=1e-5)
    assert validations(two) == pytest.approx(validations(one), abs=1e-2)
    assert saved_steps(two) == saved_steps(one) == [40, 140, STEPS]  # the best and the last two


def validations(run: Path) -> list[float]:
    found = [record["loss"] for record in journal(run) if record["event"] == "validation"]
    assert len(found) == 4
    return found


def test_a_signal_saves_a_lost_process_is_replaced_and_the_end_is_the_same(
    tmp_path: Path, corpus: Corpus, two: Path
) -> None:
    run = tmp_path / "run"
    process = begin(run, corpus, 2)
    wait_for_step(process, run, 30)
    process.send_signal(signal.SIGTERM)
    said = output(process)
    assert process.returncode != 0
    step = saved_steps(run)[-1]
    assert f"Saved at step {step}" in said
    assert max(record["step"] for record in journal(run)) == step < STEPS
    process = begin(run, corpus, 2)
    wait_for_step(process, run, step + 25)
    workers = children(process)
    assert len(workers) == 2
    os.kill(workers[step % 2], signal.SIGKILL)
    said = finish(process)
    assert "Going on with" in said
    assert tensors(run, STEPS) == tensors(two, STEPS)
    assert journal(run) == journal(two)
    assert strays(run) == []
