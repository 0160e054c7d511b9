"""What the terminal shows while a model trains."""

from __future__ import annotations

import math
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
)

from regard.terminal import Count, uncounted

STEPS_PER_LINE = 100
"""Without a progress bar, a line is printed after this many steps."""


class _PipeSafeConsole(Console):
    """A console that becomes quiet when its reader is gone, instead of ending the program."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class Display:
    """A progress bar on a terminal, plain lines elsewhere; notes and scores appear above it."""

    def __init__(self, quiet: bool = False) -> None:
        self.console = _PipeSafeConsole(stderr=True, quiet=quiet, highlight=False, emoji=False)
        self.bar: Optional[Progress] = None
        self.left = ""  # time until the end
        self.last_printed = 0  # step

    def note(self, text: str) -> None:
        try:
            self.console.print(text, markup=False, soft_wrap=True)
        except OSError:  # a full disk under a log file is no reason to stop training
            self.console.quiet = True

    @contextmanager
    def training(self, steps: int, done: int) -> Iterator[None]:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3f}"),
            TextColumn("{task.fields[speed]:,.0f} tokens/s"),
            TextColumn("{task.fields[score]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        )
        if not self.console.is_terminal:
            yield
            return
        with Progress(*columns, console=self.console, refresh_per_second=4) as bar:
            nothing = math.nan
            bar.add_task(
                "training", True, steps, done, loss=nothing, speed=nothing, score="", left=""
            )
            self.bar = bar
            try:
                yield
            finally:
                self.bar = None

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show what is being done, as long as it lasts."""
        if self.console.is_terminal:
            with self.console.status(text):
                yield
        else:
            self.note(f"{text} ...")
            yield

    @contextmanager
    def validating(self, lines: int) -> Iterator[Count]:
        """Show how much of a validation is done."""
        if self.bar is None:
            yield uncounted
            return
        bar, task, done = self.bar, self.bar.task_ids[0], 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            bar.update(task, description=f"validating {done / lines:4.0%}")

        try:
            yield count
        finally:
            bar.update(task, description="training")

    def advance(self, step: int, steps: int, left: float) -> None:
        """After each step: how many there are in all, and how many seconds are left."""
        self.left = f"{_clock(left)} left" if math.isfinite(left) and step < steps else ""
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=step, total=steps, left=self.left)

    def step(self, step: int, loss: float, speed: float) -> None:
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], loss=loss, speed=speed)
        elif step >= self.last_printed + STEPS_PER_LINE:
            self.last_printed = step
            left = f", {self.left}" if self.left else ""
            self.note(f"step {step}: loss {loss:.3f}, {speed:,.0f} tokens/s{left}")

    def validation(self, step: int, scores: Mapping[str, float]) -> None:
        text = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], score=f"validation {text}")
        self.note(f"step {step}: validation {text}")


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds, as on a clock."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
