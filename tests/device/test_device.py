"""Every family trains, is saved and resumed, is looked into and searches on a device that is not
the CPU, with the same results and without waiting for it more often than it may; and so does every
verb with one of them.

Some families at a time are checked in a process of their own, because the pretended device changes
torch.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from torch.utils import backend_registration

from regard.models import Architecture

KINDS = [family.model_fields["kind"].default for family in get_args(get_args(Architecture)[0])]
PROCESSES = 5

pytestmark = pytest.mark.skipif(
    "_setup_privateuseone_for_python_backend" not in vars(backend_registration),
    reason="this torch cannot register a device made in Python",
)


@pytest.mark.parametrize("kinds", [KINDS[start::PROCESSES] for start in range(PROCESSES)], ids=str)
def test_families_work_on_another_device(kinds: list[str]) -> None:
    run("check.py", *kinds)


def test_verbs_work_on_another_device(tmp_path: Path) -> None:
    run("verbs.py", str(tmp_path))


def run(script: str, *arguments: str) -> None:
    path = Path(__file__).with_name(script)
    done = subprocess.run(
        [sys.executable, str(path), *arguments], capture_output=True, text=True, timeout=290
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
