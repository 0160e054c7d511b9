"""Several processes of one thread each, which use two cores better than two threads do."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Optional, TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")

_work: Optional[Callable[[Any], Any]] = None


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
    global _work
    _work = work
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with multiprocessing.get_context("fork").Pool(workers, _begin) as pool:
            yield lambda items: pool.imap(_do, items)
    finally:
        _work = None
        torch.set_num_threads(threads)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    torch.set_num_threads(1)


def _do(item: Any) -> Any:
    assert _work is not None
    return _work(item)
