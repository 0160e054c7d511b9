"""The entrance of the further processes of `regard train`: python -m regard.peer RUN PARENT."""

from __future__ import annotations

import signal
import sys

from regard.errors import RegardError
from regard.processes.parent import die_with


def main() -> None:
    """Train as one rank of the group that the environment describes (regard.processes.peers)."""
    run, parent = sys.argv[1:]
    die_with(int(parent))  # before torch is imported, which takes seconds
    import torch

    from regard.runs.train import train

    torch.set_num_threads(1)
    try:
        train(run=run, quiet=True)
    except RegardError as error:  # reported by the first process
        sys.exit(error.exit_code)
    except KeyboardInterrupt:  # the first process was interrupted twice
        sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
