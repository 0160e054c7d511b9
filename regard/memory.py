"""Keeping freed memory instead of giving it back to the system and asking for it again."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # the names of glibc's mallopt(3)


def keep_memory() -> bool:
    """Tell glibc to serve large blocks from its heap and never to shrink it.

    By default a large tensor is mapped anew from the system and handed back when freed, so that
    every step touches its memory for the first time again. Does nothing where there is no glibc.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, 2**31 - 1))
