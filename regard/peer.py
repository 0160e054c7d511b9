"""A further process of `regard train`: python -m regard.peer RUN MEETING RANK SIZE."""

from __future__ import annotations

import ctypes
import signal
import sys
from pathlib import Path

import torch

from regard.experiment import train_rank
from regard.memory import keep_memory
from regard.problem import Problem
from regard.run import Run
from regard.training.display import Display
from regard.training.ranks import Ranks

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl(2)


def main() -> None:
    run, place, rank, size = sys.argv[1:]
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    keep_memory()
    torch.set_num_threads(1)
    try:
        ranks = Ranks.meet(Path(place), int(rank), int(size))
        train_rank(Run.open(Path(run)), ranks, Display(quiet=True))
    except Problem as problem:
        sys.exit(problem.exit_code)  # the first process says what there is to say
    except KeyboardInterrupt:  # the first process was told twice to stop
        sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
