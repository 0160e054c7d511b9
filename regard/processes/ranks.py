"""Data-parallel training: each process takes some rows of every batch, and gradients are summed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Optional

import torch
import torch.distributed as distributed
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from regard.data.batch import Batch
from regard.errors import RegardError

COLLECTIVE_TIMEOUT = timedelta(hours=24)
"""How long a process waits for one that is still working, such as preparing a large corpus; a dead
process is noticed immediately."""

RENDEZVOUS_FILE = "REGARD_RENDEZVOUS"
"""Environment variable of the processes that regard itself starts: the file they meet at."""


class PeerLost(RegardError):
    """Another process of the group is gone; it may have reported why."""


def error_file(rendezvous_file: Path) -> Path:
    """Where a process that regard started leaves its error, for the first process to report."""
    return rendezvous_file.with_suffix(".error")


@dataclass(frozen=True)
class Ranks:
    """This process among the processes of its group; a group of one costs nothing.

    As a context manager it leaves the group at the end.
    """

    rank: int = 0
    size: int = 1

    @staticmethod
    def join(
        environment: Mapping[str, str] = os.environ, check: Callable[[], None] = lambda: None
    ) -> Ranks:
        """Join the group that the environment describes: that of torchrun or of regard itself.

        RANK and WORLD_SIZE are those of torchrun. `check` is called while the others have not
        arrived yet, and may raise.
        """
        size = int(environment.get("WORLD_SIZE", "1"))
        if size == 1:
            return Ranks()
        if distributed.is_initialized():
            return Ranks(distributed.get_rank(), size)
        rank = int(environment["RANK"])
        file = environment.get(RENDEZVOUS_FILE)
        with _errors_as_peer_lost():
            store = _torchrun_store() if file is None else _file_store(Path(file), rank, size)
            _await_all(store, rank, size, check)
            distributed.init_process_group(
                "gloo", store=store, rank=rank, world_size=size, timeout=COLLECTIVE_TIMEOUT
            )
        return Ranks(rank, size)

    def __enter__(self) -> Ranks:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Leave the group; before the others notice, an error is left for the first to report."""
        file = os.environ.get(RENDEZVOUS_FILE)
        if file and isinstance(error, RegardError) and not isinstance(error, PeerLost):
            error_file(Path(file)).write_text(str(error), encoding="utf-8")
        if self.size > 1 and distributed.is_initialized():
            distributed.destroy_process_group()

    @property
    def first(self) -> bool:
        return self.rank == 0

    def local_rows(self, batch: Batch) -> Batch:
        """This process's rows of a batch; none if there are fewer rows than processes."""
        return batch if self.size == 1 else batch.rows(self.rank, None, self.size)

    def all_reduce_gradients(self, parameters: Sequence[Tensor], extra: Tensor) -> Tensor:
        """Sum all gradients over the processes, and the numbers in `extra` with them."""
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
            with _errors_as_peer_lost():
                distributed.all_reduce(tensor)

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """The first process's values, in every process."""
        if self.size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        with _errors_as_peer_lost():
            distributed.broadcast(tensor, src=0)
        return tensor.tolist()

    def gather_text(self, text: str) -> list[str]:
        """The text of every process."""
        if self.size == 1:
            return [text]
        encoded = torch.tensor(list(text.encode()), dtype=torch.uint8)
        lengths = torch.zeros(self.size, dtype=torch.int64)
        lengths[self.rank] = len(encoded)
        self.all_reduce(lengths)
        rows = [torch.zeros(int(lengths.max()), dtype=torch.uint8) for _ in range(self.size)]
        rows[self.rank][: len(encoded)] = encoded
        with _errors_as_peer_lost():
            distributed.all_gather(rows, rows[self.rank].clone())
        pairs = zip(rows, lengths.tolist(), strict=True)
        return [bytes(row[:length].tolist()).decode() for row, length in pairs]

    def barrier(self) -> None:
        if self.size > 1:
            with _errors_as_peer_lost():
                distributed.barrier()


_joined = count()


def _torchrun_store() -> Store:
    """torchrun's store, under a prefix that is used for one group only.

    The store outlives the processes, and after a restart gloo would find the addresses of dead
    processes in it and fail or hang (seen with torch 2.13; akin to pytorch issue 135712).
    """
    store, _, _ = next(rendezvous("env://"))
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return PrefixStore(f"regard/{restarts}/{next(_joined)}", store)


def _file_store(file: Path, rank: int, size: int) -> Store:
    """A store in a file, for processes on one machine."""
    if sys.platform.startswith("linux"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store, _, _ = next(rendezvous(f"file://{file}", rank, size))
    return store


def _await_all(store: Store, rank: int, size: int, check: Callable[[], None]) -> None:
    """Wait until every process has arrived: once gloo forms the group, a process that died before
    joining would go unnoticed."""
    store.set(f"here {rank}", "yes")
    while not store.check([f"here {number}" for number in range(size)]):
        check()
        time.sleep(0.02)


@contextmanager
def _errors_as_peer_lost() -> Iterator[None]:
    """Turn torch's errors about a lost process into one sentence."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise PeerLost(
            f"Another process of this run was lost ({reason}): run the same command again to "
            "continue from the last checkpoint."
        ) from None
