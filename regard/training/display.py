"""What the terminal shows while a model trains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Optional

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

STEPS_PER_LINE = 100
"""Where there is no progress bar, a line is printed every so many steps."""


class _PipeSafeConsole(Console):
    """A console that becomes quiet when its reader is gone, instead of ending the program."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class Display:
    """A progress bar on a terminal, plain lines elsewhere; notes and scores appear above it."""

    def __init__(self, quiet: bool = False) -> None:
        self.console = _PipeSafeConsole(stderr=True, quiet=quiet, highlight=False, emoji=False)
        self.bar: Optional[Progress] = None
        self.score = ""
        self.last_printed = 0  # step

    def note(self, text: str) -> None:
        try:
            self.console.print(text, markup=False, soft_wrap=True)
        except OSError:  # a full disk under a log file is no reason to stop training
            self.console.quiet = True

    @contextmanager
    def training(self, steps: int, done: int) -> Iterator[None]:
        columns = (
            TextColumn("training"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3f}"),
            TextColumn("{task.fields[speed]:,.0f} tokens/s"),
            TextColumn("{task.fields[score]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        if not self.console.is_terminal:
            yield
            return
        with Progress(*columns, console=self.console, refresh_per_second=4) as bar:
            bar.add_task("training", total=steps, completed=done, loss=0.0, speed=0.0, score="")
            self.bar = bar
            try:
                yield
            finally:
                self.bar = None

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show what is being done while it lasts."""
        if self.console.is_terminal:
            with self.console.status(text):
                yield
        else:
            self.note(f"{text} ...")
            yield

    def step(self, step: int, loss: float, speed: float) -> None:
        if self.bar is not None:
            task = self.bar.task_ids[0]
            self.bar.update(task, completed=step, loss=loss, speed=speed, score=self.score)
        elif step >= self.last_printed + STEPS_PER_LINE:
            self.last_printed = step
            self.note(f"step {step}: loss {loss:.3f}, {speed:,.0f} tokens/s")

    def validation(self, step: int, scores: Mapping[str, float]) -> None:
        text = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
        self.score = f"validation {text}"
        self.note(f"step {step}: validation {text}")
