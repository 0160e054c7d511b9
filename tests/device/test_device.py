"""Every family trains, is looked into and searches on a device that is not the CPU.

Each family is checked in a process of its own, because the pretended device changes torch.
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

pytestmark = pytest.mark.skipif(
    "_setup_privateuseone_for_python_backend" not in vars(backend_registration),
    reason="this torch cannot register a device made in Python",
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_family_works_on_another_device(kind: str) -> None:
    script = Path(__file__).with_name("check.py")
    done = subprocess.run(
        [sys.executable, str(script), kind], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
