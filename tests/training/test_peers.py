"""`regard train` with several processes of its own: one result, and none is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toy import (
    journal,
    kill,
    saved_steps,
    small_command,
    start,
    strays,
    tensors,
    wait_for_step,
)

from regard.errors import RegardError
from regard.processes.peers import with_peers
from regard.processes.ranks import Ranks
from regard.runs.train import READY

Corpus = dict[str, Path]
STEPS = 120
SETTINGS = ("training.processes=2", "training.validate_every=40", "training.accumulate=2")


def command(run: Path, corpus: Corpus, *more: str) -> list[str]:
    chosen = [part for setting in SETTINGS for part in ("--set", setting)]
    return small_command(run, corpus, "--steps", str(STEPS), "--save-every", "10", *chosen, *more)


def finish(run: Path, corpus: Corpus) -> str:
    process = start(command(run, corpus))
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    return said


def peers(run: Path) -> list[str]:
    """The command lines of further processes that train this run."""
    found = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True)
    return [
        line for line in found.stdout.splitlines() if "regard.peer" in line and str(run) in line
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    run = tmp_path_factory.mktemp("peers") / "undisturbed"
    finish(run, corpus)
    assert not peers(run)
    return run


def test_the_number_of_processes_is_kept_in_the_run(undisturbed: Path) -> None:
    assert json.loads((undisturbed / "processes.json").read_bytes())["processes"] == 2
    records = journal(undisturbed)
    assert [r["step"] for r in records if r["event"] == "validation"] == [40, 80, 120]


def test_a_kill_takes_the_peers_along_and_costs_nothing(
    tmp_path: Path, corpus: Corpus, undisturbed: Path
) -> None:
    run = tmp_path / "run"
    process = start(command(run, corpus))
    wait_for_step(process, run, 57)
    assert len(peers(run)) == 1
    kill(process)
    deadline = time.monotonic() + 60
    while peers(run) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not peers(run)
    finish(run, corpus)
    assert tensors(run, STEPS) == tensors(undisturbed, STEPS)
    assert journal(run) == journal(undisturbed)
    assert not strays(run)


def test_a_lost_peer_is_reported_in_one_sentence_and_costs_nothing(
    tmp_path: Path, corpus: Corpus, undisturbed: Path
) -> None:
    run = tmp_path / "run"
    process = start(command(run, corpus))
    wait_for_step(process, run, 33)
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid,args"], capture_output=True, text=True, check=True
    )
    lines = [each.split() for each in listed.stdout.splitlines()]
    (number,) = [int(line[0]) for line in lines if "regard.peer" in line and str(run) in line]
    os.kill(number, signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert said.splitlines()[-1] == (
        "regard: Another process of this run was lost: run the same command again to continue from "
        "the last checkpoint."
    )
    assert "gloo" not in said.lower()
    assert "Traceback" not in said
    finish(run, corpus)
    assert tensors(run, STEPS) == tensors(undisturbed, STEPS)


@pytest.mark.parametrize("seconds", [0.3, 3])
def test_ctrl_c_at_the_beginning_ends_the_peers_without_a_word(
    seconds: float, tmp_path: Path, corpus: Corpus
) -> None:
    run = tmp_path / "run"
    long = command(run, corpus, "--steps", "9999")  # no machine is through before the signal
    process = start(long, start_new_session=True)
    while not peers(run):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "peer.py" not in said  # no line of a traceback
    assert not peers(run)


def test_a_signal_to_the_first_process_stops_all(
    tmp_path: Path, corpus: Corpus, undisturbed: Path
) -> None:
    run = tmp_path / "run"
    process = start(command(run, corpus))
    wait_for_step(process, run, 45)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert f"Saved at step {saved_steps(run)[-1]}" in said
    assert not peers(run)
    finish(run, corpus)
    assert tensors(run, STEPS) == tensors(undisturbed, STEPS)
    assert journal(run) == journal(undisturbed)


def test_a_peer_that_cannot_start_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RegardError, match="could not start"), with_peers(Ranks(), tmp_path, 2):
        pass


def test_what_went_wrong_in_a_peer_is_reported_by_the_first(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"  # the peer finds no run there

    def start_group() -> None:
        with with_peers(Ranks(), nowhere, 2) as ranks:
            ranks.broadcast([READY])
            ranks.barrier()

    with pytest.raises(RegardError, match="nowhere"):
        start_group()


def test_a_peer_can_notice_that_its_parent_is_gone_before_it_imports_torch() -> None:
    code = "import sys, regard.peer; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
