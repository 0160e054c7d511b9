"""The processes that train together, on one machine or several, and what they tell each other."""

from __future__ import annotations

import atexit
import gc
import os
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Optional

import torch
import torch.distributed as distributed
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, ProcessGroup, Store, Work
from torch.distributed.rendezvous import rendezvous

from regard.errors import RegardError, UsageError
from regard.processes.network import notice_dead_peers, use_interface

COLLECTIVE_TIMEOUT = timedelta(hours=24)
"""How long a process waits for one that is still working, such as preparing a large corpus; a dead
process is noticed immediately, and a dead machine within half a minute."""

NCCL_TIMEOUT = timedelta(minutes=10)
"""How long a GPU waits for the gradients of another."""

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

    As a context manager it leaves the group at the end. Tensors on the CPU are exchanged by gloo,
    those on GPUs by NCCL (see `with_device`).
    """

    rank: int = 0
    size: int = 1
    local_size: int = 1  # processes on this machine
    nccl: Optional[ProcessGroup] = None

    @staticmethod
    def join(
        environment: Mapping[str, str] = os.environ, check: Callable[[], None] = lambda: None
    ) -> Ranks:
        """Join the group that the environment describes: that of torchrun or of regard itself.

        RANK and WORLD_SIZE are those of torchrun. `check` is called while the others have not
        arrived yet, and may raise.
        """
        size = _number(environment, "WORLD_SIZE", 1)
        if size == 1:
            return Ranks()
        local_size = _number(environment, "LOCAL_WORLD_SIZE", size)
        if distributed.is_initialized():
            return Ranks(distributed.get_rank(), size, local_size)
        _import_collectives()
        atexit.unregister(_let_go_of_errors)
        atexit.register(_let_go_of_errors)
        rank = _number(environment, "RANK")
        file = environment.get(RENDEZVOUS_FILE)
        if file is None:
            _given(environment, "MASTER_ADDR")
            _number(environment, "MASTER_PORT")
        if local_size < size:
            use_interface(environment["MASTER_ADDR"])
        with _errors_as_peer_lost():
            store = _torchrun_store() if file is None else _file_store(Path(file), rank, size)
            notice_dead_peers()
            meeting = meet(store, rank, size, check)
            distributed.init_process_group(
                "gloo", store=meeting, rank=rank, world_size=size, timeout=COLLECTIVE_TIMEOUT
            )
            notice_dead_peers()
        return Ranks(rank, size, local_size)

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
            _let_go(error)
        if self.size > 1 and _is_lost_peer(error):
            raise PeerLost(_LOST) from None

    @property
    def first(self) -> bool:
        return self.rank == 0

    def with_device(self, device: torch.device) -> Ranks:
        """The same group, for tensors on this device as well; all processes call it."""
        if self.size == 1 or backend(device) == "gloo":
            return self
        torch.cuda.set_device(device)
        with _errors_as_peer_lost():
            nccl = distributed.new_group(backend=backend(device), timeout=NCCL_TIMEOUT)
        return replace(self, nccl=nccl)

    def all_reduce(self, tensor: Tensor) -> None:
        """Sum a tensor over the processes, in place."""
        if self.size > 1:
            with _errors_as_peer_lost():
                distributed.all_reduce(tensor, group=self.group_for(tensor.device))

    def begin_all_reduce(self, tensor: Tensor) -> Work:
        """Begin to sum a tensor over the processes, in place; `finish` waits for it. All processes
        begin the same sums in the same order."""
        with _errors_as_peer_lost():
            group = self.group_for(tensor.device)
            work = distributed.all_reduce(tensor, group=group, async_op=True)
        assert work is not None
        return work

    def finish(self, work: Work) -> None:
        with _errors_as_peer_lost():
            work.wait()

    def group_for(self, device: torch.device) -> ProcessGroup:
        """What exchanges tensors on a device."""
        group = distributed.group.WORLD if backend(device) == "gloo" else self.nccl
        assert group is not None
        return group

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


def _import_collectives() -> None:
    """Import what optimisers import, while there is no group yet (see `without_default_group`)."""
    import_module("torch.distributed.nn.functional")


@contextmanager
def without_default_group() -> Iterator[None]:
    """Import modules of torch in this block, lest they keep the group alive.

    Some of their functions have the group of the moment of their import as a default argument.
    Gloo's threads would then outlive the group, and one that lets go of a tensor while Python shuts
    down aborts the process (seen with torch 2.13).
    """
    group = distributed.group.WORLD
    distributed.group.WORLD = None
    try:
        yield
    finally:
        distributed.group.WORLD = group


def _let_go(error: Optional[BaseException]) -> None:
    """Drop what still refers to the group that was left, so that its threads end: the functions
    that an error has passed through, and the cycles in a sharded model."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__
    gc.collect()


def _let_go_of_errors() -> None:
    """The same when the process ends. An error that has passed through a hook of a sharded model
    keeps the model until then, since clearing a frame does not drop its function."""
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    gc.collect()


def _number(environment: Mapping[str, str], name: str, without: Optional[int] = None) -> int:
    """A number that torchrun sets, or the one that holds `without` it."""
    if name not in environment and without is not None:
        return without
    text = _given(environment, name)
    if not text.isdecimal():
        raise UsageError(
            f"The environment variable {name} is '{text}', which is not a number: let torchrun set "
            "it, or unset it."
        )
    return int(text)


def _given(environment: Mapping[str, str], name: str) -> str:
    if name not in environment:
        raise UsageError(
            f"The environment variable WORLD_SIZE asks for several processes, but {name} is not "
            "set: start them with torchrun, or unset WORLD_SIZE."
        )
    return environment[name]


def backend(device: torch.device) -> str:
    """What exchanges tensors on a device: NCCL between GPUs, gloo between CPUs."""
    return "nccl" if device.type == "cuda" else "gloo"


def under_torchrun(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether torchrun started this process, and so decides how many there are."""
    return "TORCHELASTIC_RUN_ID" in environment


def _torchrun_store() -> Store:
    store, _, _ = next(rendezvous("env://"))
    return store


def _file_store(file: Path, rank: int, size: int) -> Store:
    """A store in a file, for processes on one machine."""
    if sys.platform.startswith("linux"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    store, _, _ = next(rendezvous(f"file://{file}", rank, size))
    return store


def meet(store: Store, rank: int, size: int, check: Callable[[], None]) -> Store:
    """Wait until every process has arrived; the store for them alone.

    Once gloo forms the group, a process that died before joining would go unnoticed. The store of
    torchrun outlives processes, and gloo would find the addresses of dead ones in it and hang (seen
    with torch 2.13; akin to pytorch issue 135712). So each process has a name that nobody had
    before: the first one writes down the names it has seen, and the others confirm its own.
    """
    own = secrets.token_hex(8)
    first = own if rank == 0 else ""
    store.set(f"name {rank}", own)
    called = ""
    while True:
        if rank == 0:
            names = [_read(store, f"name {number}") for number in range(size)]
            if all(names) and " ".join(names) != called:
                called = " ".join(names)
                store.set("called", called)
            joined = all(_read(store, f"joined {number}") == own for number in range(1, size))
        else:
            names = _read(store, "called").split()
            joined = own in names
            if joined:
                first = names[0]
                store.set(f"joined {rank}", first)
        if joined:
            return PrefixStore(f"regard/{first}", store)
        check()
        time.sleep(0.02)


def _read(store: Store, key: str) -> str:
    return str(store.get(key), "ascii") if store.check([key]) else ""


_LOST = (
    "Another process of this run was lost: run the same command again to continue from the last "
    "checkpoint."
)


@contextmanager
def _errors_as_peer_lost() -> Iterator[None]:
    """Turn torch's errors about a lost process into one sentence."""
    try:
        yield
    except RuntimeError:
        raise PeerLost(_LOST) from None


def _is_lost_peer(error: Optional[BaseException]) -> bool:
    """Whether an error is gloo's own about a lost process, from the exchange of a sharded model."""
    return isinstance(error, RuntimeError) and "/gloo/transport/" in str(error)
