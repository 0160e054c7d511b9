"""A pool of worker processes with one thread each, which use several cores better than threads."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Optional, TypeVar

import torch

from regard.errors import RegardError
from regard.processes.parent import die_with

ITEMS_AHEAD = 4
"""Items submitted per worker, so that none waits for the next one."""

T = TypeVar("T")
R = TypeVar("R")

_work: Optional[Callable[[Any], Any]] = None


@contextmanager
def worker_map(
    work: Callable[[T], R], workers: int
) -> Iterator[Callable[[Iterable[T]], Iterable[R]]]:
    """A map that works on several items at a time and returns the results in order.

    The workers are forked: they share the model's memory and start immediately. Where the
    operating system cannot fork, the work is done in this process.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        yield lambda items: map(work, items)
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("fork"), _start, (work, os.getpid())
    )
    try:
        yield lambda items: _in_order(pool, items, ITEMS_AHEAD * workers)
    except BaseException:
        for process in list(pool._processes.values()):  # nobody needs their results any more
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def _in_order(pool: ProcessPoolExecutor, items: Iterable[Any], most: int) -> Iterator[Any]:
    """The results, with at most `most` items in the pool at a time."""
    pending: deque[Future[Any]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(_do, item))
            if len(pending) == most:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        raise RegardError(
            "A worker process was killed, perhaps because memory ran out: set OMP_NUM_THREADS=1 "
            "to use a single process."
        ) from None


def _start(work: Callable[[Any], Any], parent: int) -> None:
    global _work
    die_with(parent)
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent
    torch.set_num_threads(1)


def _do(item: Any) -> Any:
    assert _work is not None
    return _work(item)
