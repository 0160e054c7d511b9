"""Several processes of one thread each, which use two cores better than two threads do."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Optional, TypeVar

import torch

from regard.errors import RegardError

AHEAD = 4
"""Items handed out for each process, so that none waits for the next."""

T = TypeVar("T")
R = TypeVar("R")

_work: Optional[Callable[[Any], Any]] = None

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl(2)


def cores() -> int:
    """How many cores this process may use; OMP_NUM_THREADS makes it fewer."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(allowed or 1, int(asked)) if asked.isdigit() and int(asked) else allowed or 1


@contextmanager
def at_once(work: Callable[[T], R], workers: int) -> Iterator[Callable[[Iterable[T]], Iterable[R]]]:
    """A map that works on several items at a time and keeps their order.

    The processes are forked, so they share the model in memory and start at once; where there is
    no fork, the work is done here.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        yield lambda items: map(work, items)
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("fork"), _begin, (work, os.getpid())
    )
    try:
        yield lambda items: _in_order(pool, items, AHEAD * workers)
    except BaseException:
        for process in list(pool._processes.values()):  # nobody waits for what they are doing
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def _in_order(pool: ProcessPoolExecutor, items: Iterable[Any], most: int) -> Iterator[Any]:
    """The results, with `most` items at a time in the pool."""
    waiting: deque[Future[Any]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(_do, item))
            if len(waiting) == most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise RegardError(
            "One of the processes at work was killed, perhaps for want of memory: set "
            "OMP_NUM_THREADS=1 to do with one."
        ) from None


def die_with(parent: int) -> None:
    """End this process when the one that started it is killed; elsewhere than on Linux it must have
    ended by now."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _begin(work: Callable[[Any], Any], parent: int) -> None:
    global _work
    die_with(parent)
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    torch.set_num_threads(1)


def _do(item: Any) -> Any:
    assert _work is not None
    return _work(item)
