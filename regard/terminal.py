"""The progress that the terminal shows while something is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Optional

Count = Callable[[int], None]
"""Called with the number of further items that are done."""


def uncounted(items: int) -> None:
    """Counting without a display."""


@contextmanager
def counting(text: str, total: Optional[int] = None, shown: bool = True) -> Iterator[Count]:
    """Show on a terminal how much is done, and of how much if it is known; nothing elsewhere, or
    if it is not to be `shown`.

    rich is imported here: most commands start faster without it.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed
    from rich.progress import TimeRemainingColumn as Remaining

    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield uncounted
        return
    known = (BarColumn(bar_width=20), MofNCompleteColumn(), Elapsed(), TextColumn("left"))
    columns = (*known, Remaining()) if total else (TextColumn("{task.completed:,}"), Elapsed())
    with Progress(TextColumn(text), *columns, console=console, transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda items: bar.advance(task, items)
