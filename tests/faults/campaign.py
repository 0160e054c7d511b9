"""A campaign makes attempts in worker processes, counts what came of them, and reports it as JSON.

An attempt follows from the name of its campaign, the seed and its number alone, so that a failure
can be repeated without the others. Nothing is counted that was not executed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from regard.processes.parent import die_with

Counts = Mapping[str, int]
"""What came of an attempt. What is counted under a name with a colon is a detail: it is written to
the report and not printed."""

Attempt = Callable[[int, random.Random, Path], Counts]
"""Number, random choices and an empty folder of an attempt; an exception is a failure."""

QUICK, FULL = "quick", "full"
SECONDS = 300
"""How long an attempt may take, unless its campaign says otherwise."""


class Skipped(Exception):
    """An attempt cannot be made on this machine, for the reason given."""


@dataclass(frozen=True)
class Campaign:
    """`prepared` is given a folder and gives the attempt; `sizes` are attempts in each form, and
    `goals` the least that the full form must count."""

    name: str
    about: str
    sizes: Mapping[str, int]
    prepared: Callable[[Path], AbstractContextManager[Attempt]]
    goals: Mapping[str, int] = field(default_factory=dict)
    most_jobs: int = 64
    seconds: float = SECONDS


@dataclass
class Report:
    """What a campaign did: `executed` attempts, of which those in `failures` failed."""

    campaign: str
    about: str
    form: str
    seed: int
    attempts: int
    executed: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    date: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.failures and not self.missed

    def sentence(self) -> str:
        counts = [f"{count:,} {name}" for name, count in self.counts.items() if ":" not in name]
        counts += [f"{count:,} skipped ({why})" for why, count in self.skipped.items()]
        return (
            f"{self.campaign}: {self.executed:,} attempts with seed {self.seed} in "
            f"{self.seconds:.0f} s ({self.processor_seconds:.0f} s of processor time): "
            f"{', '.join([*counts, f'{len(self.failures)} failures'])}"
        )

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(vars(self), indent=1, ensure_ascii=False) + "\n"
        (folder / f"{self.campaign}.json").write_text(text, encoding="utf-8")


def choices(name: str, seed: int, number: int) -> random.Random:
    """The random choices of an attempt."""
    return random.Random(f"{name} {seed} {number}")


def run_campaign(
    campaign: Campaign, form: str, seed: int, jobs: int = 1, only: Sequence[int] = ()
) -> Report:
    """Make all attempts, or `only` those of some numbers."""
    numbers = list(only) or list(range(campaign.sizes[form]))
    report = Report(campaign.name, campaign.about, form, seed, len(numbers))
    report.date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    began, used = time.perf_counter(), _processor_seconds()
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # in memory: faster
    folder = Path(tempfile.mkdtemp(prefix=f"faults-{campaign.name}-", dir=where))
    try:
        with campaign.prepared(folder) as attempt:
            work = _Work(campaign.name, seed, attempt, folder, campaign.seconds)
            for result in _results(work, numbers, min(jobs, campaign.most_jobs)):
                _add(report, result)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.seconds = round(time.perf_counter() - began, 1)
    report.processor_seconds = round(_processor_seconds() - used, 1)
    _judge(report, campaign, bool(only))
    return report


def _processor_seconds() -> float:
    """Of this process and of all that it has waited for: what a busy machine does not change."""
    return sum(os.times()[:4])


def _add(report: Report, result: dict[str, Any]) -> None:
    if "skipped" in result:
        report.skipped[result["skipped"]] += 1
        return
    report.executed += 1
    report.counts.update(result.get("counts", {}))
    if "what" in result:
        repeat = f"python -m faults {report.campaign} --seed {report.seed} --only {result['case']}"
        report.failures.append(
            {"case": result["case"], "repeat": f"cd tests && {repeat}", "what": result["what"]}
        )


def _judge(report: Report, campaign: Campaign, partly: bool) -> None:
    """What was not executed, or counted too rarely, did not pass."""
    if report.executed + report.skipped.total() != report.attempts:
        report.missed.append(f"{report.executed} of {report.attempts} attempts were executed")
    if report.form == FULL and not partly:
        report.missed += [
            f"{report.counts[name]:,} {name}, but {least:,} are needed"
            for name, least in campaign.goals.items()
            if report.counts[name] < least
        ]


@dataclass(frozen=True)
class _Work:
    name: str
    seed: int
    attempt: Attempt
    folder: Path
    seconds: float


class _Worker:
    """A forked process that makes one attempt after the other; it may die of any of them."""

    def __init__(self, work: _Work) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(work, theirs, os.getpid()))
        self.process.start()
        theirs.close()
        self.case = -1
        self.began = 0.0
        self.seconds = work.seconds

    def give(self, number: int) -> None:
        self.case, self.began = number, time.monotonic()
        self.pipe.send(number)

    @property
    def late(self) -> bool:
        return self.case >= 0 and time.monotonic() - self.began > self.seconds

    def end(self) -> None:
        with suppress(OSError):  # it may be dead already
            self.pipe.send(None)
        self.pipe.close()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _results(work: _Work, numbers: list[int], jobs: int) -> Iterator[dict[str, Any]]:
    """One result for each number; a worker that dies or does not end is replaced."""
    left = iter(numbers)
    workers = [_Worker(work) for _ in range(min(jobs, len(numbers)))]
    for worker, number in zip(workers, left, strict=False):
        worker.give(number)
    try:
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=1)
            for worker in [w for w in workers if w.pipe in ready or w.late]:
                result = _received(worker) if worker.pipe in ready else _overdue(worker)
                yield result
                if "died" in result:
                    workers.remove(worker)
                    worker.end()
                    worker = _Worker(work)
                    workers.append(worker)
                number_or_none = next(left, None)
                if number_or_none is None:
                    workers.remove(worker)
                    worker.end()
                else:
                    worker.give(number_or_none)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.end()


def _received(worker: _Worker) -> dict[str, Any]:
    try:
        found: dict[str, Any] = worker.pipe.recv()
        return found
    except (EOFError, OSError):
        worker.process.join()
        what = f"the process that made the attempt ended with {worker.process.exitcode}"
        return {"case": worker.case, "what": what, "died": True}


def _overdue(worker: _Worker) -> dict[str, Any]:
    worker.process.kill()
    return {"case": worker.case, "what": f"no end after {worker.seconds:.0f} s", "died": True}


def _serve(work: _Work, pipe: Connection, parent: int) -> None:
    die_with(parent)
    while True:
        number = pipe.recv()
        if number is None:
            os._exit(0)
        pipe.send(_made(work, number))


def _made(work: _Work, number: int) -> dict[str, Any]:
    folder = work.folder / f"attempt-{number}"
    folder.mkdir()
    try:
        counts = work.attempt(number, choices(work.name, work.seed, number), folder)
        return {"case": number, "counts": dict(counts)}
    except Skipped as why:
        return {"case": number, "skipped": str(why)}
    except BaseException:
        return {"case": number, "what": traceback.format_exc()[-2000:]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
