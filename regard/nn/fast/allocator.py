"""Keeping freed memory, so that each step of search does not ask the system for it again."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # parameters of glibc's mallopt(3)


@cache
def keep_freed_memory() -> bool:
    """Tell glibc to serve large blocks from its heap and never to shrink it; whether it does.

    A step of beam search frees and allocates the same few large tensors. By default they are
    returned to the system and mapped again, and every page is cleared and faulted in again. Worker
    processes inherit the setting. Does nothing where there is no glibc.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, 2**31 - 1))
