"""The systemd unit: systemd accepts it, and regard accepts its command."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from regard.cli import app
from regard.errors import UsageError
from regard.serving.limits import Limits

UNIT = Path(__file__).parent.parent.parent / "packaging" / "regard.service"
TEXT = UNIT.read_text(encoding="utf-8")
SETTINGS = dict(re.findall(r"^(\w+)=(.*)$", TEXT, flags=re.MULTILINE))

MOST_EXPOSURE = 20
"""Of 100, by `systemd-analyze security`; a unit without any hardening has 96."""


@pytest.fixture
def unit(tmp_path: Path) -> str:
    """With a program that exists on this machine."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here: the unit is not checked by systemd")
    path = tmp_path / UNIT.name
    program = shlex.split(SETTINGS["ExecStart"])[0]
    path.write_text(TEXT.replace(program, sys.executable), encoding="utf-8")
    return str(path)


def test_systemd_accepts_it(unit: str) -> None:
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_it_is_hardened(unit: str) -> None:
    command = [
        "systemd-analyze",
        "security",
        "--offline=true",
        f"--threshold={MOST_EXPOSURE}",
        unit,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd cannot judge a unit that is not installed")
    assert done.returncode == 0, done.stdout


def test_regard_accepts_its_command() -> None:
    program, verb, *arguments = shlex.split(SETTINGS["ExecStart"])
    assert (Path(program).name, verb) == ("regard", "serve")
    example = dict(re.findall(r"^#   (\w+)=(.*)$", TEXT, flags=re.MULTILINE))
    words = [word for each in arguments for word in example[each.removeprefix("$")].split()]
    serve: Any = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    given = serve.make_context("serve", words).params
    assert len(given["runs"]) == 2
    assert given["behind_proxy"]


def test_it_waits_for_accepted_requests_and_gives_up_on_wrong_use() -> None:
    limits = Limits()
    assert int(SETTINGS["TimeoutStopSec"]) > limits.drain + limits.deadline + 1
    assert int(SETTINGS["LimitNOFILE"]) > 2 * limits.connections
    assert int(SETTINGS["RestartPreventExitStatus"]) == UsageError("").exit_code
