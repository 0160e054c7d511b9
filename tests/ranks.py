"""Small runs of two processes under torchrun, for the tests that disturb them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from toy import output, small_command

Corpus = dict[str, Path]
SCRIPT = Path(__file__).parent / "training" / "ranks_script.py"
STEPS = 160

SETTINGS = (
    "model.dropout=0",
    "training.optimizer.clip=0",
    "training.optimizer.epsilon=0.001",  # so that Adam does not magnify the last digits
    "training.accumulate=2",
    "training.validate_every=40",
    "training.metric=exact",
)


def command(
    run: Path, corpus: Corpus, ranks: int, restarts: int, settings: tuple[str, ...]
) -> list[str]:
    chosen = [part for setting in (*SETTINGS, *settings) for part in ("--set", setting)]
    arguments = small_command(run, corpus, "--steps", str(STEPS), *chosen)
    arguments += ["--save-every", "20"]
    launcher = ["-m", "torch.distributed.run", f"--nproc-per-node={ranks}"]
    launcher += [f"--max-restarts={restarts}"]
    address = ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]
    # After "--" torchrun does not take our --run for its own --run-path.
    several = [*launcher, *address, "--"] if ranks > 1 else []
    return [sys.executable, *several, str(SCRIPT), *arguments]


def launch(
    run: Path, corpus: Corpus, ranks: int, *settings: str, restarts: int = 1
) -> subprocess.Popen[str]:
    environment = {**os.environ, "GRADIENTS": str(run) + ".gradients", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command(run, corpus, ranks, restarts, settings),
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
