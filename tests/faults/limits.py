"""Full disks, read-only folders, and limits on the size of files and on memory.

Training goes on or stops with a sentence; what it saved before is intact, and when there is room
again the same command finishes the run byte for byte as if there had always been room.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toy import at_step, strays, tensors

from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts, Skipped
from faults.children import Ended, in_child
from faults.commands import assert_sentence
from faults.points import FileChanges
from faults.subjects import (
    IN_TURN,
    Measured,
    Miniature,
    assert_intact,
    measured,
    small_corpus,
    without_drawing,
)
from regard.cli import main

STEPS = 8
MEMORY = "a limit on memory"
DIED = (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS)
"""What torch, numpy and safetensors do in some places where an allocation fails; that nothing is
lost is all that can be asked of it."""

PYTHON_FAILED = "SystemError: error return without exception set"
"""What Python itself says in some places where an allocation fails."""

NOBODY = 65534
ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES)


@dataclass(frozen=True)
class Subject:
    own: Miniature
    undisturbed: Path
    measured: Measured


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    without_drawing()
    corpus = small_corpus(folder)
    found = dict[str, Subject]()

    def attempt(number: int, draw: random.Random, inner: Path) -> Counts:
        member = IN_TURN[number // len(LIMITS) % len(IN_TURN)]
        if member[0] not in found:
            own = Miniature.of(*member, corpus, inner.parent / f"own-{os.getpid()}")
            whole = inner.parent / f"own-{os.getpid()}" / member[0] / "undisturbed"
            found[member[0]] = Subject(own, whole, measured(own, whole, STEPS))
        kind = list(LIMITS)[number % len(LIMITS)]
        return _attempt(kind, found[member[0]], draw, inner)

    yield attempt


def _attempt(kind: str, subject: Subject, draw: random.Random, inner: Path) -> Counts:
    run = inner / "run"
    what = f"{subject.own.name}: {kind}"
    with LIMITS[kind](subject, run, draw, inner) as ended:
        outcome = _outcome(kind, ended, what)
        if (run / "config.json").exists():
            assert_intact(run)
    finished = in_child(lambda: main(subject.own.command(run, STEPS)))
    assert finished.code == 0, f"{what}\n{finished.said}"
    assert tensors(run, STEPS) == tensors(subject.undisturbed, STEPS), what
    assert strays(run) == [], f"{what}: {strays(run)}"
    return {"limits": 1, outcome: 1, "runs with equal bytes": 1, f"{kind}: {outcome}": 1}


def _outcome(kind: str, ended: Ended, what: str) -> str:
    if ended.code == 0:
        return "went on"
    if kind == MEMORY and (ended.code in DIED or PYTHON_FAILED in ended.said):
        return "died in native code without memory"
    try:
        assert_sentence(ended.code, ended.said)
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from error
    return "stopped with a sentence"


def _failing_change(
    subject: Subject, run: Path, draw: random.Random, inner: Path
) -> Iterator[Ended]:
    """From one change of a file on, for a while or for good, each fails as on a broken disk."""
    first = draw.randrange(len(subject.measured.changes))
    last = first + draw.choice([1, 3, 10**9])
    number = draw.choice(ERRORS)

    def at(index: int, what: str, saving: bool) -> None:
        if first <= index < last and not what.startswith(("unlink", "remove", "rmdir")):
            raise OSError(number, os.strerror(number), what)

    def train() -> int:
        FileChanges(run, at).install()
        return main(subject.own.command(run, STEPS))

    yield in_child(train)


def _file_size(subject: Subject, run: Path, draw: random.Random, inner: Path) -> Iterator[Ended]:
    """No file may grow beyond a size, from the start or from a step on."""
    size, step = draw.choice([0, 100, 1000, 10_000, 50_000]), draw.randint(0, STEPS - 1)

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    yield in_child(lambda: _limited_at(step, lower, subject, run))


def _memory(subject: Subject, run: Path, draw: random.Random, inner: Path) -> Iterator[Ended]:
    """Some more memory than is in use at a step, and no more."""
    more, step = draw.choice([0, 2**16, 2**20, 2**22, 2**24]), draw.randint(0, STEPS - 1)

    def lower() -> None:
        status = Path("/proc/self/status").read_text()
        used = next(int(line.split()[1]) for line in status.splitlines() if "VmData" in line)
        limit = 1024 * used + more
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))

    yield in_child(lambda: _limited_at(step, lower, subject, run))


def _limited_at(step: int, lower: Callable[[], None], subject: Subject, run: Path) -> int:
    if step == 0:
        lower()
        return main(subject.own.command(run, STEPS))
    with at_step(step, lower):
        return main(subject.own.command(run, STEPS))


def _read_only(subject: Subject, run: Path, draw: random.Random, inner: Path) -> Iterator[Ended]:
    """The run, or its checkpoints, cannot be written to from a step on."""
    step, own = draw.randint(1, STEPS - 1), os.geteuid()
    parts = draw.choice([["checkpoints"], ["checkpoints", "."], [".", "snapshots"]])

    def forbid() -> None:
        for part in parts:
            if (run / part).exists():
                (run / part).chmod(0o555)
        if own == 0:
            os.seteuid(NOBODY)  # root may write anywhere

    inner.chmod(0o755)
    inner.parent.chmod(0o755)
    yield in_child(lambda: _limited_at(step, forbid, subject, run))
    for part in parts:
        if (run / part).exists():
            (run / part).chmod(0o755)


def _full_disk(subject: Subject, run: Path, draw: random.Random, inner: Path) -> Iterator[Ended]:
    """A file system of its own that is filled at a step."""
    disk = inner / "disk"
    disk.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], capture_output=True, check=False
    )
    if done.returncode:
        raise Skipped("no file system can be mounted here")
    step, left = draw.randint(1, STEPS - 1), draw.choice([0, 4096, 20_000, 60_000])

    def fill() -> None:
        free = shutil.disk_usage(disk).free
        with (disk / "ballast").open("wb", buffering=0) as stream:
            os.posix_fallocate(stream.fileno(), 0, max(4096, free - left))

    try:
        yield in_child(lambda: _limited_at(step, fill, subject, disk / "run"))
        if (disk / "run").exists():
            assert_intact(disk / "run")
            shutil.copytree(disk / "run", run)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


LIMITS = {
    "changes of files that fail": contextmanager(_failing_change),
    "a limit on the size of files": contextmanager(_file_size),
    MEMORY: contextmanager(_memory),
    "a read-only folder": contextmanager(_read_only),
    "a full disk": contextmanager(_full_disk),
}

LIMITED = Campaign(
    "limits",
    "Full disks, read-only folders, limits on the size of files and on memory",
    {QUICK: 5, FULL: 180},
    prepared,
    {"limits": 150},
)
