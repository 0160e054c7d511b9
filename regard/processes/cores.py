"""How many cores this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores this process is allowed to run on; OMP_NUM_THREADS lowers the number."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    limited = wanted.isdigit() and int(wanted) > 0
    return min(allowed or 1, int(wanted)) if limited else allowed or 1
