"""Data-parallel training: each process takes some rows of every batch and gradients are summed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path

import torch
import torch.distributed as distributed
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from regard.data.batch import Batch
from regard.errors import RegardError

PATIENCE = timedelta(hours=24)
"""How long processes that have met wait for one that still works, as on a large corpus; a dead one
is noticed at once."""


class Lost(RegardError):
    """Another process is gone, and perhaps has said why."""


@dataclass(frozen=True)
class Ranks:
    """This process among its peers, as torchrun has set them up; alone it costs nothing."""

    rank: int = 0
    size: int = 1

    @staticmethod
    def join() -> Ranks:
        """Meet the other processes that torchrun started, if it did."""
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size == 1:
            return Ranks()
        if not distributed.is_initialized():
            with _together():
                _meet(size)
        return Ranks(distributed.get_rank(), size)

    @staticmethod
    def meet(
        place: Path, rank: int, size: int, peers: Sequence[subprocess.Popen[bytes]] = ()
    ) -> Ranks:
        """Meet at a file the processes that `with_peers` started.

        Once the group is being formed nothing can be noticed any more, so all wait here first.
        """
        if sys.platform.startswith("linux"):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # they are all on this machine
        store, _, _ = next(rendezvous(f"file://{place}", rank, size))
        store.set(f"here {rank}", "yes")
        while not store.check([f"here {number}" for number in range(size)]):
            if any(peer.poll() is not None for peer in peers):
                raise Lost(
                    "A further process of this run could not begin: free some memory, or set "
                    "training.processes=1."
                )
            time.sleep(0.02)
        with _together():
            distributed.init_process_group(
                "gloo", store=store, rank=rank, world_size=size, timeout=PATIENCE
            )
        return Ranks(rank, size)

    @contextmanager
    def with_peers(self, run: Path, size: int) -> Iterator[Ranks]:
        """`size` processes of one thread each, of which this is the first.

        Threads in one process wait for each other at every operation, processes once a step: so
        other programs disturb them far less (docs/performance.md). Where torchrun has started
        processes there are no others.
        """
        if self.size > 1 or size == 1:
            yield self
            return
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with tempfile.TemporaryDirectory(prefix="regard-") as folder:
            place = Path(folder) / "meeting"
            arguments = [sys.executable, "-m", "regard.peer", str(run), str(place)]
            peers: list[subprocess.Popen[bytes]] = []
            try:
                for rank in range(1, size):
                    peers.append(
                        subprocess.Popen(
                            [*arguments, str(rank), str(size), str(os.getpid())],
                            env=environment,
                            stdin=subprocess.DEVNULL,
                            start_new_session=True,  # Ctrl-C reaches the first, which tells them
                        )
                    )
                yield Ranks.meet(place, 0, size, peers)
            except BaseException as error:
                for peer in peers:
                    peer.terminate()
                told = Path(f"{place}.problem")
                if isinstance(error, Lost) and told.exists():
                    raise RegardError(told.read_text(encoding="utf-8")) from None
                raise
            finally:
                if distributed.is_initialized():
                    distributed.destroy_process_group()
                for peer in peers:
                    peer.wait()
                torch.set_num_threads(threads)

    @property
    def first(self) -> bool:
        return self.rank == 0

    def part(self, batch: Batch) -> Batch:
        """This process's rows of a batch; none if it has fewer rows than there are processes."""
        return batch if self.size == 1 else batch.rows(self.rank, None, self.size)

    def all_reduce_gradients(self, parameters: Sequence[Tensor], extra: Tensor) -> Tensor:
        """Sum all gradients over the processes, and `extra` numbers along with them."""
        if self.size == 1:
            return extra
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        flat = torch.cat([each.flatten() for each in [*gradients, extra]])
        self.all_reduce(flat)
        parts = flat.split([each.numel() for each in [*gradients, extra]])
        for parameter, part in zip(parameters, parts, strict=False):
            parameter.grad = part.view_as(parameter)
        return parts[-1]

    def all_reduce(self, tensor: Tensor) -> None:
        """Sum a tensor over the processes, in place."""
        if self.size > 1:
            with _together():
                distributed.all_reduce(tensor)

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """What the first process says, for all."""
        if self.size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        with _together():
            distributed.broadcast(tensor, src=0)
        return tensor.tolist()

    def gather_text(self, text: str) -> list[str]:
        """What each process says, cut to 200 bytes."""
        said = text.encode()[:200]
        rows = torch.zeros(self.size, 200)
        rows[self.rank, : len(said)] = torch.tensor(list(said), dtype=torch.float32)
        self.all_reduce(rows)
        return [
            bytes(int(byte) for byte in row if byte).decode(errors="replace")
            for row in rows.tolist()
        ]

    def barrier(self) -> None:
        if self.size > 1:
            with _together():
                distributed.barrier()

    def leave(self) -> None:
        if self.size > 1:
            distributed.destroy_process_group()


_meetings = count()


def _meet(size: int) -> None:
    """Form the group at a place of its own in torchrun's store.

    The store outlives the processes, and after a restart gloo would find the addresses of the
    dead there, so that it fails or hangs (seen with torch 2.13; akin to pytorch issue 135712).
    """
    store, rank, _ = next(rendezvous("env://"))
    place = f"regard/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{next(_meetings)}"
    distributed.init_process_group(
        "gloo",
        store=PrefixStore(place, store),
        rank=rank,
        world_size=size,
        timeout=PATIENCE,
    )


@contextmanager
def _together() -> Iterator[None]:
    """What torch says when a process is lost, in words for a person."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise Lost(
            f"Another process of this run was lost ({reason}): the same command goes on from the "
            "last checkpoint."
        ) from None
