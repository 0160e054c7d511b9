"""Ending together with the parent process. Imports nothing heavy, so that a process that has just
been started can call it before it imports torch."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl(2)


def die_with(parent: int) -> None:
    """End this process when its parent is killed.

    Elsewhere than on Linux only a parent that is gone already is noticed.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
