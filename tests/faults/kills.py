"""kill -9 over every architecture: at changes of files, at Python calls and by the clock.

After its kills a run is finished by the same command and must be, byte for byte, what it is without
them: tensors, journal, no temporary files left, and never more than one interval lost.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miniatures import MEMBERS, Corpus
from toy import journal, saved_steps, strays, tensors

from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts
from faults.children import Ended, in_child
from faults.points import FileChanges, at_calls, kill_self
from faults.subjects import (
    IN_TURN,
    SAVE_EVERY,
    Measured,
    Miniature,
    measured,
    small_corpus,
    without_drawing,
)
from regard.training.journal import Journal

STEPS, MOST_KILLS = 8, 5
KINDS = ("file", "call", "clock")
KIND_WEIGHTS = (5, 3, 2)


@dataclass(frozen=True)
class Subject:
    """An architecture, its undisturbed run, and how many moments to be killed at this has."""

    own: Miniature
    undisturbed: Path
    measured: Measured

    @property
    def name(self) -> str:
        return self.own.name

    def train(self, run: Path) -> int:
        self.own.train(run, STEPS)
        return 0


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    without_drawing()
    corpus = small_corpus(folder)
    found = dict[str, Subject]()

    def attempt(number: int, draw: random.Random, inner: Path) -> Counts:
        member = IN_TURN[number % len(IN_TURN)]
        if member[0] not in found:  # made by the worker that needs it first
            found[member[0]] = _subject(*member, corpus, inner.parent / f"own-{os.getpid()}")
        return _attempt(found[member[0]], draw, inner)

    yield attempt


def _subject(name: str, model: Any, average: str, corpus: Corpus, folder: Path) -> Subject:
    own = Miniature.of(name, model, average, corpus, folder)
    run = folder / name / "undisturbed"
    return Subject(own, run, measured(own, run, STEPS))


def _attempt(subject: Subject, draw: random.Random, inner: Path) -> Counts:
    run, counts, reached, moments = inner / "run", Counter[str](), 0, list[str]()
    for _ in range(draw.randint(2, MOST_KILLS)):
        kind = draw.choices(KINDS, KIND_WEIGHTS)[0]
        left = 1 - reached / (STEPS + 2)  # what has been done is not repeated
        ended = _killed(kind, subject, run, left, draw, inner / "moment")
        if ended.code == 0:
            counts["ended before the kill"] += 1
            break
        assert ended.code == -signal.SIGKILL, f"{subject.name}: {ended.code}\n{ended.said}"
        found = _counted(kind, run, inner / "moment")
        counts += found
        moments.append(", ".join(found))
        reached = _assert_little_lost(run, reached)
    _assert_finished(in_child(lambda: subject.train(run)))
    whole = subject.undisturbed
    assert tensors(run, STEPS) == tensors(whole, STEPS), f"{subject.name}: {moments}"
    assert journal(run) == journal(whole), f"{subject.name}: {moments}"
    assert strays(run) == [], f"{subject.name}: {strays(run)} after {moments}"
    assert set(saved_steps(run)) >= set(saved_steps(whole)), f"{subject.name}: {moments}"
    counts["runs with equal bytes"] += 1
    counts[f"architecture: {subject.name.split('-')[0]}"] += 1
    return counts


def _killed(
    kind: str, subject: Subject, run: Path, left: float, draw: random.Random, moment: Path
) -> Ended:
    """Train until the kill, in the part of the work that is left; if it is at a change of a file,
    inside a save as often as elsewhere."""
    moment.unlink(missing_ok=True)
    if kind == "clock":
        wait = draw.uniform(0, left * subject.measured.seconds)
        return in_child(lambda: subject.train(run), _after(wait))
    if kind == "call":
        number = draw.randint(1, round(left * subject.measured.calls))

        def train_to_call() -> int:
            at_calls([number], kill_self)
            return subject.train(run)

        return in_child(train_to_call)
    changes = subject.measured.changes
    indices = range(round(left * len(changes)))
    inside = [index for index in indices if changes[index][1]]
    chosen = draw.choice(inside if inside and draw.random() < 0.5 else indices)

    def at(index: int, what: str, saving: bool) -> None:
        if index == chosen:
            descriptor = os.open(moment, os.O_WRONLY | os.O_CREAT)
            os.write(descriptor, json.dumps([what, saving]).encode())
            kill_self()

    def train_to_change() -> int:
        FileChanges(run, at).install()
        return subject.train(run)

    return in_child(train_to_change)


def _after(seconds: float) -> Callable[[int], None]:
    def kill(process: int) -> None:
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    return kill


def _counted(kind: str, run: Path, moment: Path) -> Counter[str]:
    inside = any((run / "checkpoints").glob("step-*.tmp"))
    counts = Counter({"kills": 1, f"by: {kind}": 1})
    if moment.exists():
        what, inside = json.loads(moment.read_text())
        counts[f"{'save' if inside else 'elsewhere'}: {what}"] += 1
    return counts + Counter({"kills inside a save": int(inside)})


def _assert_little_lost(run: Path, before: int) -> int:
    """At most one interval is lost by a kill; the step that is left."""
    steps = saved_steps(run) if (run / "config.json").exists() else []
    reached = steps[-1] if steps else 0
    came_to = max((record["step"] for record in Journal(run / "journal.jsonl")), default=0)
    assert reached >= came_to - SAVE_EVERY, f"step {came_to} was reached, {reached} is left"
    assert reached >= before
    return reached


def _assert_finished(ended: Ended) -> None:
    assert ended.code == 0, ended.said


KILLS = Campaign(
    "kills",
    "kill -9 over every architecture, at random moments and inside every step of a save",
    {QUICK: 3, FULL: 3 * len(MEMBERS)},
    prepared,
    {"kills": 500},
)
