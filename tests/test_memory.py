"""A limit on memory, so that asking for too much is an error and not the end of the process."""

from __future__ import annotations

import resource
import sys

import pytest
import torch

from regard.processes import memory
from regard.processes.memory import bounded_memory, out_of_memory

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has it")


def test_more_memory_than_there_is_can_not_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 2**28)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with bounded_memory(processes=2, device=torch.device("cpu")):
        torch.empty(2**20)
        with pytest.raises(RuntimeError) as caught:
            torch.empty(2**30)  # 4 GB, more than earlier tests can have left in the heap
        assert out_of_memory(caught.value)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    torch.empty(2**26)


def test_what_the_machine_has_left_is_found() -> None:
    free = memory.free_memory()
    assert free is not None
    assert 2**26 < free < 2**50
