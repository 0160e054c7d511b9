"""Systems that work by turns: each is a process that stands still while another one works.

What else the machine does changes from minute to minute, so a turn is short and every system has
the same piece of work in it.
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

LOOK = 0.005
"""Seconds between two looks at how far a system is."""


class Turns:
    """One system, started by `python -m MODULE ARGUMENTS FOLDER`; it tells of each piece of its
    work in the journal FOLDER/run/journal.jsonl, as `regard train` does."""

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
        self.pieces = 0

    def take(self, pieces: int) -> float:
        """Let it do so many pieces; how many seconds they took."""
        began = time.perf_counter()
        self._signal(signal.SIGCONT)
        self.pieces += pieces
        size = -1
        while True:
            new = self.journal.path.stat().st_size if self.journal.path.exists() else 0
            if new != size:
                size = new
                if sum(record["event"] == "train" for record in self.journal) >= self.pieces:
                    break
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} failed:\n{self.errors.read_text()}")
            time.sleep(LOOK)
        took = time.perf_counter() - began
        self._signal(signal.SIGSTOP)
        return took

    def end(self) -> None:
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
