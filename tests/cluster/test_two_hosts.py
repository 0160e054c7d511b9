"""Training over two hosts: a cable that is cut and a host that loses power change nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hosts import Host, two_hosts, why_not
from toy import journal, saved_steps, small_command, strays, tensors, write_corpus

import regard
from regard.runs.folder import Run

STEPS = 120
SECONDS = 250
"""The most that a test waits for something to happen; on an idle machine it takes a tenth."""

SETTINGS = (
    "model.dropout=0",
    "training.optimizer.clip=0",
    "training.optimizer.epsilon=0.001",  # so that Adam does not magnify the last digits
    "training.accumulate=2",
    "training.validate_every=40",
    "training.save_every=20",
)

pytestmark = pytest.mark.timeout(900)

LOST = "Another process of this run was lost"


@pytest.fixture(scope="module")
def hosts() -> Iterator[tuple[Host, Host]]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with two_hosts() as pair:
        yield pair


@pytest.fixture(autouse=True)
def left_as_found(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that fails in the middle leaves no process behind, and the cable plugged in."""
    yield
    if "hosts" in request.fixturenames:
        for host in request.getfixturevalue("hosts"):
            host.lose_power()
            host.plug("up")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def training(run: Path, corpus: dict[str, Path], *settings: str) -> list[str]:
    chosen = [part for setting in (*SETTINGS, *settings) for part in ("--set", setting)]
    return ["regard.cli", *small_command(run, corpus, "--steps", str(STEPS), *chosen)]


def torchrun(*options: str) -> list[str]:
    return [sys.executable, "-m", "torch.distributed.run", *options, "-m", "--"]


def start(
    host: Host, first: Host, run: Path, corpus: dict[str, Path], hosts: str = "2"
) -> subprocess.Popen[bytes]:
    """torchrun on one of the hosts, started again when it gives up, as a scheduler does."""
    conf = "join_timeout=60,last_call_timeout=1,keep_alive_interval=2,keep_alive_max_attempt=3"
    command = torchrun(
        *(f"--nnodes={hosts}", "--nproc-per-node=1", "--max-restarts=9", "--rdzv-backend=c10d"),
        *(f"--rdzv-endpoint={first.address}:29400", f"--rdzv-id={run.name}"),
        *(f"--rdzv-conf={conf},is_host={str(host == first).lower()}",),
        f"--local-addr={host.address}",
    )
    loop = ["sh", "-c", 'until "$@"; do sleep 1; done', "sh"]
    return host.start([*loop, *command, *training(run, corpus)], log_of(host, run))


def log_of(host: Host, run: Path) -> Path:
    return run.with_name(f"{run.name}.{host.address}.log")


def wait_for(what: str, happened: object, logs: list[Path]) -> None:
    assert callable(happened)
    deadline = time.monotonic() + SECONDS
    while not happened():
        if time.monotonic() > deadline:
            said = "\n".join(log.read_text()[-3000:] for log in logs)
            raise AssertionError(f"waited in vain for {what}:\n{said}")
        time.sleep(0.05)


def reached(run: Path) -> int:
    """The last step in the journal."""
    file = run / "journal.jsonl"
    return max((each["step"] for each in journal(run)), default=0) if file.exists() else 0


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, corpus: dict[str, Path], hosts: tuple[Host, Host]
) -> Path:
    run = tmp_path_factory.mktemp("hosts") / "undisturbed"
    both = [start(host, hosts[0], run, corpus) for host in hosts]
    assert [each.wait(SECONDS) for each in both] == [0, 0]
    return run


def test_a_cut_cable_and_a_lost_host_change_nothing(
    tmp_path: Path, corpus: dict[str, Path], hosts: tuple[Host, Host], undisturbed: Path
) -> None:
    first, second = hosts
    run = tmp_path / "run"
    logs = [log_of(host, run) for host in hosts]
    both = [start(host, first, run, corpus) for host in hosts]
    wait_for("step 30", lambda: reached(run) >= 30, logs)
    second.plug("down")
    wait_for("both to notice", lambda: all(LOST in log.read_text() for log in logs), logs)
    stopped = reached(run)
    assert stopped < STEPS
    second.plug("up")

    wait_for("more steps", lambda: reached(run) >= stopped + 30, logs)
    second.plug("down")
    second.lose_power()
    both[1].wait(SECONDS)
    second.plug("up")
    assert saved_steps(run)[-1] < STEPS
    both[1] = start(second, first, run, corpus)
    assert [each.wait(SECONDS) for each in both] == [0, 0], [log.read_text() for log in logs]

    assert journal(run) == journal(undisturbed)
    assert tensors(run, STEPS) == tensors(undisturbed, STEPS)
    assert strays(run) == []
    assert sum("Resuming" in log.read_text() for log in logs) > 0


def test_the_host_that_is_left_finishes_alone(
    tmp_path: Path, corpus: dict[str, Path], hosts: tuple[Host, Host], undisturbed: Path
) -> None:
    first, second = hosts
    run = tmp_path / "run"
    logs = [log_of(host, run) for host in hosts]
    both = [start(host, first, run, corpus, "1:2") for host in hosts]
    wait_for("step 50", lambda: reached(run) >= 50, logs)
    second.plug("down")
    second.lose_power()
    both[1].wait(SECONDS)
    try:
        assert both[0].wait(SECONDS) == 0, logs[0].read_text()
    finally:
        second.plug("up")
    said = "".join(log.read_text() for log in logs)
    assert "This run was trained by 2 processes so far: with 1" in said
    assert_same_losses(run, undisturbed)


def assert_same_losses(run: Path, other: Path) -> None:
    """Within what sums in another order change."""
    for one, two in zip(journal(run), journal(other), strict=True):
        assert (one["event"], one["step"]) == (two["event"], two["step"])
        if "loss" in one:
            assert one["loss"] == pytest.approx(two["loss"], rel=2e-3)


def test_a_sharded_run_resumes_with_another_number_of_processes(
    tmp_path: Path, corpus: dict[str, Path]
) -> None:
    """And its losses are those of one process that has the whole model."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def begin(run: Path, processes: int, *settings: str) -> subprocess.Popen[str]:
        launcher = torchrun("--standalone", f"--nproc-per-node={processes}")
        command = [*launcher, *training(run, corpus, *settings)]
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    whole, sharded = tmp_path / "whole", tmp_path / "sharded"
    process = begin(whole, 1)
    said = process.communicate(timeout=SECONDS)[0]
    assert process.returncode == 0, said
    process = begin(sharded, 2, "training.shard=true")
    wait_for("step 50", lambda: reached(sharded) >= 50, [])
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=SECONDS)[0]
    assert f"Saved at step {saved_steps(sharded)[-1]}" in said
    process = begin(sharded, 3, "training.shard=true")
    said = process.communicate(timeout=SECONDS)[0]
    assert process.returncode == 0, said
    assert "This run was trained by 2 processes so far: with 3" in said
    assert_same_losses(sharded, whole)
    saved = sharded / "checkpoints" / f"step-{STEPS}"
    assert len(list(saved.glob("weights-*-of-00003.safetensors"))) == 3
    assert strays(sharded) == []
    one, many = (Run.open(run).checkpoints().latest() for run in (whole, sharded))
    assert one is not None
    assert many is not None
    for group in ("weights", "average", "optimizer"):
        first, second = one.tensors(group), many.tensors(group)
        assert first.keys() == second.keys()
        for name, tensor in first.items():
            torch.testing.assert_close(second[name], tensor, rtol=1e-3, atol=1e-5, msg=name)
    assert regard.load(sharded)("ant bee cat") == regard.load(whole)("ant bee cat")
