"""Requests of different clients computed together: a bounded queue and the thread behind it."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Optional, TypeVar

from regard.errors import RegardError
from regard.serving.limits import Limits
from regard.serving.refusal import busy, too_late

BATCH_CHARACTERS = 8192
"""Characters computed together, padding included."""

LATER = 0.02
"""The n-th item of a request queues as if it had arrived n times as many seconds later, so that a
long text does not keep short ones waiting."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Check = Callable[[], None]
"""Called between the steps of a computation; raises once nobody waits for its result."""


class Work(ABC, Generic[Item, Result]):
    """Something that is done to many items at once."""

    @property
    @abstractmethod
    def group(self) -> Hashable:
        """Work of the same group can be done together."""

    @abstractmethod
    def size(self, item: Item) -> int:
        """The length of an item in characters."""

    @abstractmethod
    def compute(self, items: Sequence[Item], check: Check) -> Sequence[Result]:
        """One result per item, in order."""


class AbandonedError(Exception):
    """Nobody waits for this computation any more."""


@dataclass
class _Job:
    work: Work[Any, Any]
    item: Any
    size: int
    arrived: float
    order: float
    deadline: float
    future: Future[Any] = field(default_factory=Future)

    @property
    def is_dead(self) -> bool:
        return self.future.done() or time.monotonic() > self.deadline

    def finish(self, result: Any) -> None:
        with suppress(InvalidStateError):  # cancelled in the meantime
            self.future.set_result(result)

    def fail(self, error: BaseException) -> None:
        with suppress(InvalidStateError):
            self.future.set_exception(error)


class Queue:
    """Jobs in order of arrival, and one thread that computes them in batches of similar length.

    One thread per model: a captured pass must not meet another pass through the same model.
    """

    def __init__(self, limits: Limits, batched: Callable[[int], None] = lambda rows: None) -> None:
        self._limits = limits
        self._batched = batched  # told how many rows each batch has
        self._changed = threading.Condition()
        self._jobs: list[_Job] = []
        self._waiting = 0  # characters
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Characters in the queue."""
        return self._waiting

    def check_room(self, characters: int) -> None:
        """Refuse so many more characters while there is no room for them. Asked before a text is
        divided into sentences, it makes a refusal cheap when there are many."""
        if self._closed or self._is_full(characters):
            raise busy()

    def _is_full(self, characters: int) -> bool:
        return self._waiting > 0 and self._waiting + characters > self._limits.queue

    def submit(
        self,
        work: Work[Item, Result],
        items: Sequence[Item],
        deadline: float,
        is_begun: bool = False,
    ) -> list[Future[Result]]:
        """The future result of each item. All are taken or none: a full queue refuses them at
        once, unless other work for the same request is done already, which would be lost.
        Cancelling a future, or the deadline, takes its item out."""
        now = time.monotonic()
        jobs = [
            _Job(work, item, max(1, work.size(item)), now, now + LATER * index, deadline)
            for index, item in enumerate(items)
        ]
        asked = sum(job.size for job in jobs)
        with self._changed:
            if self._closed or (not is_begun and self._is_full(asked)):
                raise busy()
            self._jobs += jobs
            self._waiting += asked
            self._changed.notify()
        return [job.future for job in jobs]

    def close(self) -> None:
        """Compute what is in the queue, then stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (jobs := self._take()) is not None:
            if jobs:
                self._batched(len(jobs))
                _compute(jobs)

    def _take(self) -> Optional[list[_Job]]:
        """The next batch; None after the last."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed)
            if not self._jobs:
                return None
            self._wait_for_more()
            dead = [job for job in self._jobs if job.is_dead]
            for job in dead:
                job.fail(too_late())
            alive = [job for job in self._jobs if not job.future.done()]
            chosen = choose(alive, self._limits.batch) if alive else []
            taken = {id(job) for job in chosen}
            self._jobs = [job for job in alive if id(job) not in taken]
            self._waiting = sum(job.size for job in self._jobs)
            return chosen

    def _wait_for_more(self) -> None:
        """Give others a moment to join, unless the batch is full or the first came long ago."""
        until = min(job.arrived for job in self._jobs) + self._limits.batch_wait
        while len(self._jobs) < self._limits.batch and not self._closed:
            left = until - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                return


def choose(jobs: Sequence[_Job], most: int) -> list[_Job]:
    """The first job and those of its group that are nearest to it in length."""
    first = min(jobs, key=lambda job: job.order)
    same = [job for job in jobs if job.work.group == first.work.group]
    same.sort(key=lambda job: (job is not first, abs(job.size - first.size), job.order))
    chosen, longest = list[_Job](), 0
    for job in same[:most]:
        longest = max(longest, job.size)
        if chosen and longest * (len(chosen) + 1) > BATCH_CHARACTERS:
            break
        chosen.append(job)
    return chosen


def _compute(jobs: Sequence[_Job]) -> None:
    def check() -> None:
        if all(job.is_dead for job in jobs):
            raise AbandonedError

    try:
        results = jobs[0].work.compute([job.item for job in jobs], check)
    except AbandonedError:
        for job in jobs:
            job.fail(too_late())
    except (RegardError, RuntimeError, ValueError, MemoryError) as error:
        if len(jobs) == 1:
            jobs[0].fail(error)
            return
        for job in jobs:  # so that one bad sentence fails alone
            _compute([job])
    except BaseException as error:
        for job in jobs:
            job.fail(error)
        raise
    else:
        for job, result in zip(jobs, results, strict=True):
            job.finish(result)
