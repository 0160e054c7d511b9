"""Starting the further processes of a training run on this machine, and stopping them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from regard.errors import RegardError
from regard.processes.limit import check_count
from regard.processes.ranks import RENDEZVOUS_FILE, PeerLost, Ranks, error_file

Processes = list[subprocess.Popen[bytes]]


@contextmanager
def with_peers(ranks: Ranks, run: Path, size: int) -> Iterator[Ranks]:
    """A group of `size` processes with one thread each, of which this one is the first.

    Threads in one process wait for each other at every operation, processes once per step, so other
    programs disturb them far less (docs/performance.md). Where torchrun has started a group, that
    group is used.
    """
    if ranks.size > 1 or size == 1:
        yield ranks
        return
    check_count(size, "training.processes")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory(prefix="regard-") as folder:
            file = Path(folder) / "rendezvous"
            with _started(run, file, size) as peers:
                environment = _environment(file, 0, size)
                with Ranks.join(environment, lambda: _check_running(peers)) as joined:
                    yield joined
    finally:
        torch.set_num_threads(threads)


@contextmanager
def _started(run: Path, file: Path, size: int) -> Iterator[Processes]:
    """The other processes; if this one fails they are terminated, and in any case awaited."""
    peers: Processes = []
    try:
        for rank in range(1, size):
            peers.append(_start(run, _environment(file, rank, size)))
        yield peers
    except BaseException as error:
        for peer in peers:
            peer.terminate()
        reported = error_file(file)
        if isinstance(error, PeerLost) and reported.exists():
            raise RegardError(reported.read_text(encoding="utf-8")) from None
        raise
    finally:
        for peer in peers:
            peer.wait()


def _start(run: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "regard.peer", str(run), str(os.getpid())],
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C reaches the first process, which tells the others
    )


def _environment(file: Path, rank: int, size: int) -> dict[str, str]:
    """What torchrun would set, and the file to meet at."""
    return {
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        RENDEZVOUS_FILE: str(file),
        "OMP_NUM_THREADS": "1",
    }


def _check_running(peers: Sequence[subprocess.Popen[bytes]]) -> None:
    if any(peer.poll() is not None for peer in peers):
        raise PeerLost(
            "Another process of this run could not start: free some memory, or set "
            "training.processes=1."
        )
