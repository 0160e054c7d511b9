"""What becomes of freed memory: kept for the next step, or returned to the system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4  # parameters of glibc's mallopt(3)

MAPPED_MIN_BYTES = 2**20


@cache
def keep_freed_memory() -> bool:
    """Tell glibc to serve large blocks from its heap and never to shrink it; whether it does.

    A step of beam search frees and allocates the same few large tensors. By default they are
    returned to the system and mapped again, and every page is cleared and faulted in again. Worker
    processes inherit the setting. Does nothing where there is no glibc.
    """
    return _set(_MMAP_MAX, 0) and _set(_TRIM_THRESHOLD, 2**31 - 1)


@cache
def return_freed_memory() -> bool:
    """Tell glibc to map large blocks one by one and to return each when it is freed; whether it
    does.

    By default it keeps blocks of up to 32 MB in its heap once it has seen some that large. Weights
    that are gathered, used and freed in turn then leave holes, which doubled what a sharded model
    needs.
    """
    return _set(_MMAP_THRESHOLD, MAPPED_MIN_BYTES)


def _set(parameter: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(parameter, value))
    except (OSError, AttributeError):
        return False
