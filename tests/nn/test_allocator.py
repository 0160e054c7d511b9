"""Freed memory is kept: allocating it again costs no page faults."""

from __future__ import annotations

import subprocess
import sys

import pytest

from regard.nn.fast.allocator import keep_freed_memory

PROGRAM = """
import resource, sys, torch
from regard.nn.fast.allocator import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(2):
    [torch.ones(n, 1 << 20) for n in (2, 9)]
before = faults()
for _ in range(20):
    [torch.ones(n, 1 << 20) for n in (2, 9)]
print(faults() - before)
"""


def page_faults(keep: str) -> int:
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM, keep], capture_output=True, text=True, check=True
    )
    return int(made.stdout)


@pytest.mark.skipif(not keep_freed_memory(), reason="only glibc can be told to keep memory")
def test_blocks_that_were_freed_are_used_again() -> None:
    assert page_faults("keep") < page_faults("return") / 10
