"""The moments of a process at which it can be made to kill itself: before each change of a file,
in the middle of each write, and at any Python call."""

from __future__ import annotations

import builtins
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.training.checkpoint import Checkpoints

CHANGES = ("fsync", "replace", "rename", "mkdir", "unlink", "remove", "rmdir", "truncate")

At = Callable[[int, str, bool], None]
"""Told of each change: its number, what it is, and whether it is part of a save."""


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class FileChanges:
    """Counts the changes of files in this process, from when it is installed. For forked children:
    nothing is put back."""

    def __init__(self, folder: Path, at: At) -> None:
        self.folder = str(folder)
        self.at = at
        self.count = 0
        self.saving = False
        self.open = io.open

    def install(self) -> None:
        for name in CHANGES:
            setattr(os, name, self._counted(name, getattr(os, name)))
        io.open = builtins.open = self._opened  # type: ignore[assignment]
        save = Checkpoints.save

        def saved(*given: Any, **more: Any) -> None:
            with self._during_save():
                save(*given, **more)

        Checkpoints.save = saved  # type: ignore[method-assign]

    @contextmanager
    def _during_save(self) -> Iterator[None]:
        self.saving = True
        yield
        self.saving = False

    def change(self, what: str, path: Any) -> None:
        name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else _path_of(path)
        short = re.sub(r"\d+", "N", os.path.relpath(name, self.folder)) if name else "?"
        self.at(self.count, f"{what} {short}", self.saving)
        self.count += 1

    def _counted(self, name: str, real: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            self.change(name, given[0])
            return real(*given, **more)

        return call

    def _opened(self, file: Any, mode: str = "r", *given: Any, **more: Any) -> Any:
        if not set(mode) & set("wax+") or isinstance(file, int):
            return self.open(file, mode, *given, **more)
        self.change("create", file)
        stream = self.open(file, mode, *given, **more)
        if isinstance(stream, io.BufferedWriter):
            return _Torn(stream.detach(), self, file)
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding
            return io.TextIOWrapper(_Torn(stream.detach().detach(), self, file), encoding)
        return stream


class _Torn(io.BufferedWriter):
    """A file of which a kill leaves half of what was written last."""

    def __init__(self, raw: Any, changes: FileChanges, path: Any) -> None:
        super().__init__(raw)
        self._changes, self._path = changes, path

    def write(self, data: Any, /) -> int:
        half = len(data) // 2
        written = super().write(data[:half])
        self.flush()
        self._changes.change("write", self._path)
        return written + super().write(data[half:])


def _path_of(descriptor: Any) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{int(descriptor)}")
    except (OSError, TypeError, ValueError):
        return ""


def at_calls(numbers: Sequence[int], act: Callable[[], None]) -> None:
    """Do something at the n-th call of a Python function from now on, for each number given."""
    done = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal done
        if event == "call":
            done += 1
            if done in numbers:
                act()

    sys.setprofile(count)


def counted_calls(work: Callable[[], object]) -> int:
    """How many Python functions are called by some work."""
    count = 0

    def add(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(add)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
