"""Round-robin measurement: every system is a process that is paused while another one runs.

The load of the machine changes from minute to minute, so slices are short and every system does the
same units of work in each round.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from regard.training.journal import Journal

POLL_SECONDS = 0.005


class System:
    """One system, started by `python -m MODULE ARGUMENTS FOLDER`; it records every unit of its work
    in the journal FOLDER/run/journal.jsonl, as `regard train` does."""

    def __init__(self, module: str, arguments: list[str], folder: Path) -> None:
        folder.mkdir(parents=True)
        self.name = " ".join([module, *arguments])
        self.journal = Journal(folder / "run" / "journal.jsonl")
        self.errors = folder / "errors"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments, str(folder)],
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        self.units = 0

    def run(self, units: int) -> float:
        """Resume it for this many units of work, and return the seconds they took."""
        began = time.perf_counter()
        self._signal(signal.SIGCONT)
        self.units += units
        size = -1
        while True:
            new = self.journal.path.stat().st_size if self.journal.path.exists() else 0
            if new != size:
                size = new
                if sum(record["event"] == "train" for record in self.journal) >= self.units:
                    break
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} failed:\n{self.errors.read_text()}")
            time.sleep(POLL_SECONDS)
        seconds = time.perf_counter() - began
        self._signal(signal.SIGSTOP)
        return seconds

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: int) -> None:
        for pid in [self.process.pid, *_descendants(self.process.pid)]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            yield int(child)
            yield from _descendants(int(child))
