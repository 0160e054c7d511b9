"""A model that does not fit in one process: whole it fails, sharded it trains, under one limit of
memory per process.

    python -m benchmarks.sharding
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIMIT = 764 * 2**20
"""Bytes of data that each process may have, torch's own included."""

STEPS = 3
WORDS = 3_000
SETTINGS = (
    "tokenizer.kind=word",
    "batch.tokens=64",
    "model.layers=6",
    "model.decoder_layers=6",
    "model.width=768",
    "model.inner=3072",
    "model.heads=8",
    "training.optimizer.rate=0.0001",
    "training.log_every=1",
    "training.metric=loss",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=6)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        corpus = _corpus(Path(folder))
        rows = [
            _train(Path(folder) / f"{shard}", corpus, shard, arguments.processes)
            for shard in (False, True)
        ]
    found = {"limit": LIMIT, "processes": arguments.processes, "settings": SETTINGS, "rows": rows}
    print(json.dumps(found, indent=1))


def _corpus(folder: Path) -> list[str]:
    lines = [" ".join(f"w{(5 * i + j) % WORDS}" for j in range(6)) for i in range(400)]
    for name, chosen in (("train", lines), ("valid", lines[:10])):
        (folder / name).write_text("".join(f"{line}\n" for line in chosen))
    files = {"source": "train", "target": "train", "valid-source": "valid", "valid-target": "valid"}
    return [f"--{option}={folder / name}" for option, name in files.items()]


def _train(run: Path, corpus: list[str], shard: bool, processes: int) -> dict[str, Any]:
    settings = [*SETTINGS, f"training.shard={str(shard).lower()}"]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", "-m", "--", "regard.cli", "train", "tiny"]
    command += [f"--run={run}", *corpus, f"--steps={STEPS}"]
    command += [part for setting in settings for part in ("--set", setting)]
    began = time.perf_counter()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT)),
    )
    said = done.stdout + done.stderr
    journal = run / "journal.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    records = [json.loads(line) for line in lines]
    return {
        "shard": shard,
        "finished": done.returncode == 0,
        "losses": [each["loss"] for each in records if "loss" in each],
        "said": [line for line in said.splitlines() if "Training " in line or "emory" in line][:3],
        "seconds": round(time.perf_counter() - began, 1),
    }


if __name__ == "__main__":
    main()
