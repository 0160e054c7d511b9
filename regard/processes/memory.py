"""How much memory is free, a limit that turns the lack of it into an error, and how to recognise
that error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

import torch

from regard.processes.devices import on_cpu

_NO_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "could not create a primitive",  # oneDNN, when there is no room for a kernel's code
)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, in any of the ways torch reports it."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _NO_MEMORY)


@contextmanager
def bounded_memory(processes: int, device: torch.device) -> Iterator[None]:
    """Make an allocation fail if it exceeds this process's share of the free memory.

    Linux promises more memory than there is and later kills a process without a message; an error
    can be handled, by a smaller batch or a plain sentence. Does nothing on other systems, nor where
    a device maps far more memory than it uses, as CUDA does.
    """
    free = free_memory() if on_cpu(device) else None
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


def free_memory() -> Optional[int]:
    """Free bytes, including swap; None where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return None
    meminfo = Path("/proc/meminfo")
    free = 1024 * (_number(meminfo, "MemAvailable:") + _number(meminfo, "SwapFree:"))
    group = Path("/sys/fs/cgroup")
    try:
        most = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        used -= _number(group / "memory.stat", "inactive_file")  # page cache: can be reclaimed
        return free if most == "max" else max(0, min(free, int(most) - used))
    except (OSError, ValueError):  # not in a control group of its own
        return free


def resident_memory() -> int:
    """Bytes of this process that are in memory; 0 where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return 0
    return 1024 * _number(Path("/proc/self/status"), "VmRSS:")


def _number(path: Path, name: str) -> int:
    """The number after a name in a file of the system; under /proc it is in kB."""
    lines = (line.split() for line in path.read_text().splitlines())
    return next((int(words[1]) for words in lines if words and words[0] == name), 0)
