"""Data-parallel training: each process takes some rows of every batch and gradients are summed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
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
from regard.problem import Problem

PATIENCE = timedelta(hours=24)
"""How long processes wait for one that still works, as on a large corpus; a dead one is noticed
at once."""


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
    def meet(place: Path, rank: int, size: int) -> Ranks:
        """Meet at a file the processes that `with_peers` started."""
        if sys.platform.startswith("linux"):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # they are all on this machine
        store, _, _ = next(rendezvous(f"file://{place}", rank, size))
        store.set_timeout(timedelta(minutes=5))
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
            peers = [
                subprocess.Popen(
                    [*arguments, str(rank), str(size)],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C reaches the first alone, which tells them
                )
                for rank in range(1, size)
            ]
            try:
                yield Ranks.meet(place, 0, size)
            except BaseException:
                for peer in peers:
                    peer.terminate()
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

    def sum_gradients(self, parameters: Sequence[Tensor], extra: Tensor) -> Tensor:
        """Sum all gradients over the processes, and `extra` numbers along with them."""
        if self.size == 1:
            return extra
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        flat = torch.cat([each.flatten() for each in [*gradients, extra]])
        self.sum(flat)
        parts = flat.split([each.numel() for each in [*gradients, extra]])
        for parameter, part in zip(parameters, parts, strict=False):
            parameter.grad = part.view_as(parameter)
        return parts[-1]

    def sum(self, tensor: Tensor) -> None:
        """Sum a tensor over the processes, in place."""
        if self.size > 1:
            with _together():
                distributed.all_reduce(tensor)

    def share(self, values: Sequence[float]) -> list[float]:
        """What the first process says, for all."""
        if self.size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        with _together():
            distributed.broadcast(tensor, src=0)
        return tensor.tolist()

    def wait(self) -> None:
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
        raise Problem(
            f"Another process of this run was lost ({reason}): the same command goes on from the "
            "last checkpoint."
        ) from None
