"""Forked children that have torch already, so that starting one takes milliseconds."""

from __future__ import annotations

import faulthandler
import fcntl
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Optional

import torch._dynamo  # torch imports it when weights are made on the meta device: takes seconds

from regard.processes.parent import die_with

MOST_SAID = 2**20
"""Bytes that a child can say."""

CRASHED = 70
"""The exit code of a child whose work raised what a command does not handle."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code, or the signal that killed it as a negative number."""

    code: int
    said: str


def in_child(
    work: Callable[[], Optional[int]],
    disturb: Callable[[int], None] = lambda process: None,
    seconds: float = 60,
) -> Ended:
    """Do some work in a forked process. `disturb` is called with its id in this one.

    A child that does not end in time is killed and fails the attempt.
    """
    torch.set_num_threads(1)  # a process with threads of its own cannot be forked safely
    reading, writing = os.pipe()  # limits on the size of files do not apply to it
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, MOST_SAID)
    parent, process = os.getpid(), os.fork()
    if process == 0:
        try:
            die_with(parent)
            _work(work, writing)
        finally:
            os._exit(CRASHED)
    os.close(writing)
    with os.fdopen(reading, "rb") as said, _always_killed(process) as handle:
        disturb(process)
        if not select.select([handle], [], [], seconds)[0]:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise TimeoutError(f"no end after {seconds} s")
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        return Ended(code, said.read().decode("utf-8", "replace"))


@contextmanager
def _always_killed(process: int) -> Iterator[int]:
    handle = os.pidfd_open(process)
    try:
        yield handle
    except BaseException:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        raise
    finally:
        os.close(handle)


def _work(work: Callable[[], Optional[int]], said: int) -> None:
    """What the child does; it never returns."""
    code = CRASHED
    faulthandler.disable()  # that of pytest writes to its own standard error
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        code = work() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 0xFF)
