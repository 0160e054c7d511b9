"""Many kills of real training processes, some of them inside a save: nothing may be lost.

Not part of `make test`, since it takes minutes: `make faults` runs it.
"""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from toy import (
    journal,
    kill,
    saved_steps,
    small_command,
    start,
    strays,
    tensors,
    train_small,
    wait_for_step,
    write_corpus,
)

from regard.cli import main
from regard.training.journal import Journal

STEPS, SAVE_EVERY, KILLS = 1200, 4, 36
SETTINGS = ("training.validate_every=60", "training.metric=loss")


def command(run: Path, corpus: dict[str, Path]) -> list[str]:
    more = [part for setting in SETTINGS for part in ("--set", setting)]
    budget = ["--steps", str(STEPS), "--save-every", str(SAVE_EVERY)]
    return small_command(run, corpus, *budget, *more)


def wait_for_file(process: subprocess.Popen[str], folder: Path, pattern: str) -> None:
    while process.poll() is None and not next(folder.glob(pattern), None):
        pass


def test_kills_at_random_moments_and_inside_saves(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    undisturbed = train_small(
        tmp_path / "undisturbed", corpus, *SETTINGS, steps=STEPS, save_every=SAVE_EVERY
    ).path
    run, reached, inside = tmp_path / "run", 0, 0
    beginnings = (".config.json.*tmp", "config.json", "data.json", "*tokenizer*", "data/train/*")
    for number in range(KILLS):
        process = start(command(run, corpus))
        if number < len(beginnings):
            wait_for_file(process, run, beginnings[number])
            kill(process)
            continue
        wait_for_step(process, run, reached + random.randint(2, 25))
        if number % 2:
            time.sleep(random.random() / 20)
        else:
            wait_for_file(process, run / "checkpoints", "*.tmp")
            time.sleep(random.random() / 500)
        kill(process)
        inside += bool(strays(run))
        came_to = max((record["step"] for record in journal_as_it_is(run)), default=0)
        steps = saved_steps(run)
        reached = steps[-1] if steps else 0
        assert reached >= came_to - SAVE_EVERY  # at most one interval is lost
        assert reached < STEPS, "the run ended before the kills did"
    assert inside >= 5
    assert main(command(run, corpus)) == 0
    assert tensors(run, STEPS) == tensors(undisturbed, STEPS)
    assert journal(run) == journal(undisturbed)
    assert strays(run) == []
    assert saved_steps(run) == saved_steps(undisturbed)


def journal_as_it_is(run: Path) -> list[dict[str, int]]:
    """After a kill the last line may be torn."""
    return list(Journal(run / "journal.jsonl"))
