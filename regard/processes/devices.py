"""The device that models compute on. It is decided here, when a model is loaded or trained; from
then on every tensor is made where the weights are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, Optional, get_args

import torch

from regard.errors import UsageError

AUTO, CPU = "auto", "cpu"

AVAILABLE: dict[str, Callable[[], bool]] = {
    "cuda": torch.cuda.is_available,
    "mps": torch.backends.mps.is_available,
    CPU: lambda: True,
}
"""Every kind of device and whether it is here; `auto` takes the first that is."""

Precision = Literal["float32", "bfloat16"]
"""The type in which large products are made."""

_precision: ContextVar[Precision] = ContextVar("precision", default="float32")
_wanted: ContextVar[Optional[str]] = ContextVar("device", default=None)


@contextmanager
def on_device(name: Optional[str], precision: Optional[Precision] = None) -> Iterator[None]:
    """Load and train models on a device inside this block: auto, cpu, cuda or mps.

    In the precision bfloat16, models that are loaded round the large products of search to it. With
    None, the choice of the block around it remains.
    """
    device = wanted_device() if name is None else str(find_device(name))
    before = _wanted.set(device), _precision.set(precision or search_precision())
    try:
        yield
    finally:
        _wanted.reset(before[0])
        _precision.reset(before[1])


def search_precision() -> Precision:
    """That of the innermost `on_device`, or else float32."""
    return _precision.get()


def check_precision(name: str) -> Precision:
    if name not in get_args(Precision):
        raise UsageError(f"'{name}' is not a precision: choose float32 or bfloat16.")
    return "float32" if name == "float32" else "bfloat16"


def wanted_device() -> Optional[str]:
    """The device of the innermost `on_device`; None outside of one."""
    return _wanted.get()


def chosen_device() -> torch.device:
    """Where a model is loaded: the device of the innermost `on_device`, or else the CPU."""
    return torch.device(_wanted.get() or CPU)


def find_device(name: str) -> torch.device:
    """The device of a name, which must be here."""
    if name == AUTO:
        return torch.device(next(each for each, is_here in AVAILABLE.items() if is_here()))
    if name not in AVAILABLE:
        known = [AUTO, *sorted(AVAILABLE)]
        raise UsageError(
            f"'{name}' is not a device: choose {', '.join(known[:-1])} or {known[-1]}."
        )
    if not AVAILABLE[name]():
        raise UsageError(f"torch finds no {name} device on this machine: use --device {CPU}.")
    return torch.device(name)


def local_device(
    device: torch.device, gpus: int, environment: Mapping[str, str] = os.environ
) -> torch.device:
    """The device of this process: those that torchrun starts on a machine take one GPU each."""
    processes = int(environment.get("LOCAL_WORLD_SIZE", "1"))
    if device.type == CPU or int(environment.get("WORLD_SIZE", "1")) == 1:
        return device
    if device.type != "cuda":
        raise UsageError(
            f"Several processes cannot share {device.type}: leave out torchrun, or use "
            f"--device {CPU}."
        )
    if processes > gpus:
        raise UsageError(
            f"{processes} processes were started for {gpus} GPU{'s' if gpus > 1 else ''}: start "
            f"torchrun with --nproc-per-node={gpus}."
        )
    return torch.device(device.type, int(environment["LOCAL_RANK"]))


def on_cpu(device: torch.device) -> bool:
    """Whether what only the CPU can do is possible: forked workers, eight-bit weights."""
    return device.type == CPU
