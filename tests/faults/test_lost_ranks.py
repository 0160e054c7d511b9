"""Processes of a group that are lost again and again, and groups that cannot start."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

from ranks import SCRIPT, STEPS, children, finish, launch
from toy import journal, output, saved_steps, strays, tensors, wait_for_step, write_corpus

import regard


def test_ranks_killed_at_random_change_nothing(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    finish(launch(tmp_path / "undisturbed", corpus, 2))
    run = tmp_path / "run"
    process = launch(run, corpus, 2, restarts=9)
    reached = 0
    for _ in range(5):
        wait_for_step(process, run, reached + random.randint(2, 22))
        os.kill(random.choice(children(process)), signal.SIGKILL)
        reached = max(saved_steps(run), default=0)
    finish(process)
    assert tensors(run, STEPS) == tensors(tmp_path / "undisturbed", STEPS)
    assert journal(run) == journal(tmp_path / "undisturbed")
    assert strays(run) == []


def test_wrong_use_ends_all_processes_without_a_traceback_of_ours(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    process = launch(tmp_path / "run", {**corpus, "source": corpus["valid_source"]}, 2)
    said = output(process)
    assert process.returncode != 0
    assert "has 20 lines but" in said
    assert f'File "{Path(regard.__file__).parent}/' not in said  # no line of a traceback
    assert str(SCRIPT) in said
