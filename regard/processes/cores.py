"""How many cores this process may use."""

from __future__ import annotations

import os
import sys


def cores() -> int:
    """The cores this process is allowed to run on; OMP_NUM_THREADS lowers the number."""
    linux = sys.platform.startswith("linux")
    allowed = len(os.sched_getaffinity(0)) if linux else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(allowed, int(wanted)) if wanted.isdigit() and int(wanted) > 0 else allowed
