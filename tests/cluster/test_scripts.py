"""The scripts for Slurm run in bash, with Slurm's variables and stand-ins for its commands; the
commands of the manifests for Kubernetes run as they are, but on the CPU."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import sample
from socket import socket
from typing import Any, Optional

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
SLURM, KUBERNETES = ROOT / "packaging" / "slurm", ROOT / "packaging" / "kubernetes"
SECONDS = 240
LONG = 1500
"""Steps of a job that is interrupted: a test that a busy machine keeps waiting still finds it."""

STAND_INS = {
    # as srun does, each task in a process of its own; its number is kept for scancel
    "srun": """
        for node in $(seq 0 $((SLURM_JOB_NUM_NODES - 1))); do
            SLURM_NODEID=$node SLURMD_NODENAME=127.0.0.1 "$@" &
            echo $! >> "$STEP"
        done
        status=0
        for task in $(jobs -p); do wait "$task" || status=$?; done
        exit $status""",
    "scancel": 'echo "scancel $*" >> "$CALLS"; kill -TERM $(cat "$STEP")',
    "scontrol": """
        if [ "$1" = show ]; then echo 127.0.0.1; else echo "scontrol $*" >> "$CALLS"; fi""",
}
"""Of one machine. The real commands were tried by hand: see docs/slurm.md."""

SMALL = [
    "tokenizer.kind=word",
    "model.layers=1",
    "model.width=16",
    "model.inner=16",
    "model.heads=2",
    "batch.tokens=64",
    "training.validate_every=100000",
    "training.validation_lines=4",
]
OPTIONS = [part for each in SMALL for part in ("--set", each)]


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    words = ["ant bee cat", "dog eel", "fox gnu hen ant", "bee dog"]
    lines = [f"{w} {n}" for n in range(60) for w in words]
    (tmp_path / "source").write_text("\n".join(lines))
    (tmp_path / "target").write_text("\n".join(line[::-1] for line in lines))
    return ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]


def environment(folder: Path) -> dict[str, str]:
    tools = folder / "bin"
    if not tools.exists():
        tools.mkdir()
        for name, body in STAND_INS.items():
            (tools / name).write_text(f"#!/bin/bash\n{body}\n")
            (tools / name).chmod(0o755)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        **os.environ,
        "PATH": path,
        "OMP_NUM_THREADS": "1",
        "DEVICE": "cpu",
        "PROCESSES": "1",
        "PORT": str(free_port()),
        "CALLS": str(folder / "calls"),
        "STEP": str(folder / "step"),
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "127.0.0.1",
        "SLURM_JOB_NUM_NODES": "1",
        "SLURM_GPUS_ON_NODE": "1",
        "SLURM_ARRAY_TASK_ID": "3",
        "GLOO_SOCKET_IFNAME": "lo",
    }


def free_port() -> int:
    """One that nobody listens at, and that the system gives to no outgoing connection meanwhile."""
    for port in sample(range(10_000, 30_000), 100):
        with socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")


def start(
    script: str, arguments: Sequence[str], folder: Path, more: Optional[Mapping[str, str]] = None
) -> subprocess.Popen[str]:
    (folder / "step").unlink(missing_ok=True)
    return subprocess.Popen(
        ["bash", str(SLURM / script), *arguments, *OPTIONS],
        env={**environment(folder), **(more or {})},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def journal(run: Path) -> list[dict[str, Any]]:
    path = run / "journal.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def last_step(run: Path) -> int:
    return max((each["step"] for each in journal(run)), default=0)


def test_a_job_that_runs_out_of_time_is_saved_queued_again_and_resumes(
    tmp_path: Path, corpus: list[str]
) -> None:
    run = tmp_path / "run"
    ask = ["tiny", *corpus, "--run", str(run), "--set", "training.processes=1"]
    job = start("one-gpu.sbatch", [*ask, "--steps", str(LONG)], tmp_path)
    deadline = time.monotonic() + SECONDS
    while last_step(run) < 10 and time.monotonic() < deadline:
        time.sleep(0.1)
    job.send_signal(signal.SIGUSR1)
    output, _ = job.communicate(timeout=SECONDS)
    assert job.returncode == 143, output
    assert "Saved at step" in output
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == ["scancel --signal=TERM 7", "scontrol requeue 7"]
    saved = json.loads((run / "checkpoints" / "latest.json").read_text())["step"]
    assert 10 <= saved < LONG
    again = start("one-gpu.sbatch", [*ask, "--steps", str(LONG)], tmp_path)
    output, _ = again.communicate(timeout=SECONDS)
    assert again.returncode == 0, output
    assert f"at step {saved:,}." in output
    assert last_step(run) == LONG


@pytest.mark.parametrize(
    ("script", "nodes", "processes"), [("one-node.sbatch", 1, 2), ("several-nodes.sbatch", 2, 1)]
)
def test_processes_that_torchrun_starts_train_together(
    script: str, nodes: int, processes: int, tmp_path: Path, corpus: list[str]
) -> None:
    run = tmp_path / "run"
    sizes = {"SLURM_JOB_NUM_NODES": str(nodes), "PROCESSES": str(processes)}
    ask = ["tiny", *corpus, "--run", str(run), "--steps", "8"]
    job = start(script, ask, tmp_path, sizes)
    output, _ = job.communicate(timeout=SECONDS)
    assert job.returncode == 0, output
    assert last_step(run) == 8
    assert json.loads((run / "processes.json").read_text())["processes"] == nodes * processes


def test_an_array_trains_with_the_seed_of_its_number(tmp_path: Path, corpus: list[str]) -> None:
    ask = [str(tmp_path / "runs"), "tiny", *corpus, "--steps", "3"]
    job = start("seeds.sbatch", [*ask, "--set", "training.processes=1"], tmp_path)
    output, _ = job.communicate(timeout=SECONDS)
    assert job.returncode == 0, output
    config = json.loads((tmp_path / "runs" / "seed-3" / "config.json").read_text())
    assert config["training"]["seed"] == 3


@pytest.mark.parametrize("name", ["one-gpu", "one-node", "several-nodes", "seeds"])
def test_the_command_of_a_manifest_trains(name: str, tmp_path: Path, corpus: list[str]) -> None:
    """Each pod has one process here, and several nodes are two."""
    found = list(yaml.safe_load_all((KUBERNETES / f"{name}.yaml").read_text()))[-1]
    (container,) = found["spec"]["template"]["spec"]["containers"]
    command = container["command"]
    known = environment(tmp_path)
    address = f"127.0.0.1:{known['PORT']}"
    changes = {
        "/data/train.en": corpus[1],
        "/data/train.de": corpus[3],
        "/runs": str(tmp_path),
        "=cuda": "=cpu",
        "device cuda": "device cpu",
        "--nproc-per-node=8": "--nproc-per-node=1",
        "--nnodes=4": "--nnodes=2",
        "regard-0.regard:29500": address,
        "train base": "train tiny",
    }
    words = []
    for word in command:
        for before, after in changes.items():
            word = word.replace(before, after)
        words.append("tiny" if word == "base" else word)
    small = ["--steps", "4", *OPTIONS]
    words = [*words[:2], f"{words[2]} {shlex.join(small)}"] if words[0] == "sh" else words + small
    pods = []
    for index in range(2 if name == "several-nodes" else 1):
        own = {**known, "JOB_COMPLETION_INDEX": str(index)}
        pods.append(subprocess.Popen(words, env=own, stderr=subprocess.PIPE, text=True))
    errors = [pod.communicate(timeout=SECONDS)[1] for pod in pods]
    assert all(pod.returncode == 0 for pod in pods), errors
    assert last_step(tmp_path / ("seed-0" if name == "seeds" else "en-de")) == 4
