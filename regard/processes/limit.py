"""How many processes this machine can run beside each other."""

from __future__ import annotations

from typing import Optional

from regard.errors import UsageError
from regard.messages import counted
from regard.processes.cores import available_cores, cores
from regard.processes.memory import free_memory

PROCESSES_PER_CORE = 2
"""More only take the cores from each other."""

PROCESS_BYTES = 200 * 2**20
"""What a process needs at least: about that of importing torch."""


def worker_count(wanted: Optional[int]) -> int:
    """How many processes translate: as many as wanted, or one per core."""
    return min(cores(), most_processes()) if wanted is None else check_count(wanted, "--workers")


def check_count(number: int, name: str) -> int:
    """The number of processes, unless they would take the machine down."""
    most = most_processes()
    if number <= most:
        return number
    free = free_memory()
    memory = "" if free is None else f" and {free / 2**30:.1f} GB of free memory"
    raise UsageError(
        f"{name}={number} would start more processes than this machine can run, which has "
        f"{counted(available_cores(), 'core')}{memory}: choose {most} or fewer."
    )


def most_processes() -> int:
    by_cores = PROCESSES_PER_CORE * available_cores()
    free = free_memory()
    return by_cores if free is None else max(1, min(by_cores, free // PROCESS_BYTES))
