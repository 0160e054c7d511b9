"""A further process of `regard train`: python -m regard.peer RUN MEETING RANK SIZE PARENT."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import torch

from regard.errors import RegardError
from regard.processes.pool import die_with
from regard.processes.ranks import Lost, Ranks
from regard.runs.folder import Run
from regard.runs.train import train_rank
from regard.training.display import Display


def main() -> None:
    run, place, rank, size, parent = sys.argv[1:]
    die_with(int(parent))
    torch.set_num_threads(1)
    try:
        ranks = Ranks.meet(Path(place), int(rank), int(size))
        train_rank(Run.open(Path(run)), ranks, Display(quiet=True))
    except Lost as problem:
        sys.exit(problem.exit_code)
    except RegardError as problem:
        Path(f"{place}.problem").write_text(str(problem), encoding="utf-8")  # the first will say it
        sys.exit(problem.exit_code)
    except KeyboardInterrupt:  # the first process was told twice to stop
        sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
