"""Processes of a group under torchrun that are killed again and again, with restarts.

torchrun's own launcher starts and restarts the ranks, here by forking, so that a restart does not
import torch again. The group is finished with the tensors and the journal, and so the loss curve,
of one that was not disturbed.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ranks import launch
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from toy import journal, output, small_command, strays, tensors, write_corpus

import regard
from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts, choices
from faults.children import in_child
from faults.points import at_calls, counted_calls, kill_self
from faults.subjects import without_drawing
from regard.cli import main

RANKS, STEPS, KILLS = 2, 24, 6
SECONDS = 600
WRONG_USE = 9
SETTINGS = (
    "training.validate_every=12",
    "training.metric=exact",
)


def _command(run: Path, corpus: dict[str, Path]) -> list[str]:
    chosen = [part for setting in SETTINGS for part in ("--set", setting)]
    return small_command(run, corpus, f"--steps={STEPS}", "--save-every=3", "--quiet", *chosen)


def _launch(command: list[str], name: str, kills: int, calls: int, dead: Path) -> int:
    """What torchrun does with --nproc-per-node=2 --max-restarts, in this process."""
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=RANKS,
        run_id=name,
        max_restarts=kills,
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        start_method="fork",
        monitor_interval=0.05,
    )
    elastic_launch(config, _rank)(command, name, kills, calls, str(dead))
    return 0


def _rank(command: list[str], name: str, kills: int, calls: int, dead: str) -> None:
    """One rank of one start; in each start but the last one of them is killed."""
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    rank = int(os.environ["RANK"])
    draw = choices(name, 0, attempt)
    victim, moment = draw.randrange(RANKS), draw.randint(1, calls)

    def die() -> None:
        with open(dead, "a", encoding="utf-8") as stream:
            stream.write(f"{rank}\n")
        kill_self()

    if attempt < kills and rank == victim:
        at_calls([moment], die)
    code = main(command)
    sys.setprofile(None)
    if code:
        os._exit(code)


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    without_drawing()
    corpus = write_corpus(folder / "corpus")
    whole, counted = folder / "whole", folder / "counted"
    dead = folder / "nobody"
    ended = in_child(lambda: _launch(_command(whole, corpus), "whole", 0, 1, dead), seconds=SECONDS)
    assert ended.code == 0, ended.said

    def count() -> None:
        command = _command(folder / "alone", corpus)
        counted.write_text(str(counted_calls(lambda: main(command))))

    ended = in_child(count)
    assert ended.code == 0, ended.said
    calls = int(counted.read_text())

    def attempt(number: int, draw: random.Random, inner: Path) -> Counts:
        if number == WRONG_USE:
            return _wrong_use(corpus, inner)
        run, dead, kills = inner / "run", inner / "dead", KILLS
        name = f"ranks-{draw.getrandbits(64)}"
        command = _command(run, corpus)
        ended = in_child(lambda: _launch(command, name, kills, calls // 3, dead), seconds=SECONDS)
        assert ended.code == 0, ended.said[-2000:]
        assert "Traceback" not in _ours(ended.said), ended.said[-2000:]
        assert tensors(run, STEPS) == tensors(whole, STEPS)
        assert journal(run) == journal(whole)
        assert strays(run) == []
        killed = dead.read_text().splitlines()
        by_rank = {f"killed: rank {rank}": killed.count(str(rank)) for rank in range(RANKS)}
        return {"rank kills": len(killed), "runs with equal bytes": 1, **by_rank}

    yield attempt


def _wrong_use(corpus: dict[str, Path], inner: Path) -> Counts:
    """Through the command torchrun itself: all ranks end, and none shows a traceback of regard."""
    process = launch(inner / "run", {**corpus, "source": corpus["valid_source"]}, RANKS)
    said = output(process)
    assert process.returncode != 0
    assert "has 20 lines but" in said, said
    assert f'File "{Path(regard.__file__).parent}/' not in said, said
    return {"wrong uses": 1}


def _ours(said: str) -> str:
    """What is said, without the lines of torch's own launcher."""
    return "\n".join(line for line in said.splitlines() if "torch" not in line)


RANK_KILLS = Campaign(
    "ranks",
    "Ranks of a group under torchrun that are killed, with restarts",
    {QUICK: 1, FULL: 10},
    prepared,
    {"rank kills": 50, "wrong uses": 1},
    most_jobs=1,
    seconds=SECONDS,
)
