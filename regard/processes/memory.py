"""How much memory there is, so that asking for more fails instead of killing the process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional


@contextmanager
def bounded_memory(processes: int) -> Iterator[None]:
    """Let an allocation fail that this machine cannot serve, with so many processes alike.

    Linux promises more memory than there is and later kills a process without a word; an error
    can be answered, by a smaller batch or a plain sentence. Does nothing on other systems.
    """
    free = _free_memory()
    if free is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    most = 1024 * _number(Path("/proc/self/status"), "VmData:") + free // processes
    if before[0] not in (resource.RLIM_INFINITY, -1):
        most = min(most, before[0])
    resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _free_memory() -> Optional[int]:
    """Bytes that can still be had, swap included; None where there is no way to know."""
    if not sys.platform.startswith("linux"):
        return None
    meminfo = Path("/proc/meminfo")
    free = 1024 * (_number(meminfo, "MemAvailable:") + _number(meminfo, "SwapFree:"))
    group = Path("/sys/fs/cgroup")
    try:
        most = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        used -= _number(group / "memory.stat", "inactive_file")  # files that were read: given back
        return free if most == "max" else max(0, min(free, int(most) - used))
    except (OSError, ValueError):  # not in a group of its own
        return free


def _number(path: Path, name: str) -> int:
    """What a file of the system gives under a name; under /proc it is in kB."""
    lines = (line.split() for line in path.read_text().splitlines())
    return next((int(words[1]) for words in lines if words and words[0] == name), 0)
