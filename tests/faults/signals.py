"""SIGINT, SIGTERM and SIGHUP, once and twice, at random Python calls of `regard train`.

The command ends as the signal asks, with a sentence or without a word, and the same command then
finishes the run byte for byte as if there had been none.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toy import journal, strays, tensors

from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts
from faults.children import Ended, in_child
from faults.points import at_calls
from faults.subjects import (
    IN_TURN,
    Miniature,
    assert_intact,
    measured,
    small_corpus,
    without_drawing,
)
from regard.cli import main
from regard.training import signals

STEPS = 8
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    without_drawing()
    corpus = small_corpus(folder)
    found = dict[str, tuple[Miniature, Path, int]]()

    def attempt(number: int, draw: random.Random, inner: Path) -> Counts:
        member = IN_TURN[number // len(SIGNALS) % len(IN_TURN)]
        if member[0] not in found:
            own = inner.parent / f"own-{os.getpid()}"
            subject = Miniature.of(*member, corpus, own)
            whole = own / member[0] / "undisturbed"
            found[member[0]] = subject, whole, measured(subject, whole, STEPS).calls
        return _attempt(*found[member[0]], SIGNALS[number % len(SIGNALS)], draw, inner)

    yield attempt


def _attempt(
    subject: Miniature,
    whole: Path,
    calls: int,
    number: signal.Signals,
    draw: random.Random,
    inner: Path,
) -> Counts:
    run, twice = inner / "run", draw.random() < 0.4
    first = draw.randint(1, calls)
    moments = [first, first + draw.randint(1, calls // 4)] if twice else [first]

    def train() -> int:
        signals.REPEAT_SECONDS = 0  # type: ignore[misc]  # the second is not the first, doubled
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        at_calls(moments, lambda: os.kill(os.getpid(), number))
        code = main(subject.command(run, STEPS))
        sys.setprofile(None)
        return code

    ended = in_child(train)
    what = f"{subject.name}: {number.name} at call {moments} of {calls}"
    outcome = _outcome(ended, number, what)
    if (run / "config.json").exists():
        assert_intact(run)
    finished = in_child(lambda: main(subject.command(run, STEPS)))
    assert finished.code == 0, f"{what}\n{finished.said}"
    assert tensors(run, STEPS) == tensors(whole, STEPS), what
    assert journal(run) == journal(whole), what
    assert strays(run) == [], what
    times = "twice" if twice else "once"
    return {"runs with equal bytes": 1, outcome: 1, f"{number.name} {times}: {outcome}": 1}


def _outcome(ended: Ended, number: signal.Signals, what: str) -> str:
    assert "Traceback (most recent call last)" not in ended.said, f"{what}\n{ended.said}"
    if ended.code == 0:
        return "finished before the signal"
    if ended.code == -number:
        return "ended by the signal"
    assert ended.code == 128 + number, f"{what}: exit code {ended.code}\n{ended.said}"
    said = ended.said.strip().splitlines()
    if said and said[-1].startswith("regard: Saved at step"):
        return "saved"
    return "stopped without a save"


SIGNALLED = Campaign(
    "signals",
    "SIGINT, SIGTERM and SIGHUP, once and twice, at random moments",
    {QUICK: 3, FULL: 180},
    prepared,
    {"runs with equal bytes": 150},
)
