"""How many cores this process may use."""

from __future__ import annotations

import os
import sys


def available_cores() -> int:
    """The cores this process is allowed to run on."""
    linux = sys.platform.startswith("linux")
    return len(os.sched_getaffinity(0)) if linux else os.cpu_count() or 1


def cores() -> int:
    """The cores to use: all that are available, unless OMP_NUM_THREADS lowers the number."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    lowered = int(wanted) if wanted.isdigit() else 0
    return min(available_cores(), lowered) if lowered > 0 else available_cores()
