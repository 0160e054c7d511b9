"""Freed memory is kept: allocating it again costs no page faults."""

from __future__ import annotations

import subprocess
import sys

import pytest

from regard.nn.fast.allocator import keep_freed_memory

PROGRAM = """
import resource, torch
from regard.nn.fast.allocator import keep_freed_memory

def allocate(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        for n in (2, 9):  # 9: larger than any block that glibc keeps by itself
            torch.ones(n, 1 << 20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

returned = allocate(5)
keep_freed_memory()
allocate(2)
print(returned, allocate(5))
"""


@pytest.mark.skipif(not keep_freed_memory(), reason="only glibc can be told to keep memory")
def test_blocks_that_were_freed_are_used_again() -> None:
    """Both numbers are of one process, which is a fresh one: this one may keep memory already."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    returned, kept = map(int, done.stdout.split())
    assert kept < returned / 10
