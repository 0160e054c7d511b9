"""Devices that training can be planned for: their makers' figures, or those of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import torch

from regard.errors import UsageError
from regard.messages import unknown
from regard.nn.fast.products import times
from regard.processes.devices import AUTO, AVAILABLE, CPU, find_device, on_cpu
from regard.processes.memory import free_memory

GB, TERA = 1e9, 1e12

LAUNCH_SECONDS = 8e-6
"""What an operation takes at least where Python starts each of them."""


@dataclass(frozen=True)
class Accelerator:
    """Bytes of memory, peak FLOP/s of dense products by type, and bytes/s: of its memory, and to
    another device of the same machine in one direction.

    `bfloat16` is None where products are no faster in it. `runtime` is what the driver and its
    libraries keep of the memory.
    """

    name: str
    memory: float
    float32: float
    bfloat16: Optional[float]
    bandwidth: float
    link: float
    launch: float = LAUNCH_SECONDS
    runtime: float = 0.8 * GB
    here: bool = False

    @property
    def where(self) -> str:
        """What computes a rehearsal: this device, or the CPU in its place."""
        return self.name if self.here else CPU

    def peak(self, short: bool) -> float:
        """FLOP/s of products in bfloat16, or in float32."""
        return self.bfloat16 if short and self.bfloat16 is not None else self.float32


KNOWN = {
    each.name: each
    for each in (
        Accelerator("a100", 80 * GB, 19.5 * TERA, 312 * TERA, 2039 * GB, 300 * GB),
        Accelerator("a100-40gb", 40 * GB, 19.5 * TERA, 312 * TERA, 1555 * GB, 300 * GB),
        Accelerator("h100", 80 * GB, 67 * TERA, 989 * TERA, 3350 * GB, 450 * GB),
        Accelerator("l4", 24 * GB, 30.3 * TERA, 121 * TERA, 300 * GB, 32 * GB),
        Accelerator("t4", 16 * GB, 8.1 * TERA, None, 320 * GB, 16 * GB),
        Accelerator("v100", 32 * GB, 15.7 * TERA, None, 900 * GB, 150 * GB),
        Accelerator("rtx4090", 24 * GB, 82.6 * TERA, 165 * TERA, 1008 * GB, 32 * GB),
    )
}
"""From the data sheets: A100 and H100 in their SXM form; float32 without TF32, as torch computes
unless told otherwise; bfloat16 without sparsity. T4 and V100 have no bfloat16 products."""

MACHINE_DEVICES = 8
"""Devices of one machine; with more, the slowest link is the network."""

NETWORK = 100 / 8 * GB
"""Bytes/s between machines, unless it is given: 100 Gbit/s."""


def check_accelerator(name: str) -> None:
    """Refuse what is neither in the table nor a device of this machine; nothing is measured."""
    if name == AUTO or name in AVAILABLE:
        find_device(name)
    elif name not in KNOWN:
        raise UsageError(unknown("device", name, [*AVAILABLE, *KNOWN]))


def find_accelerator(name: str) -> Accelerator:
    """One of the table, or a device of this machine, which is measured."""
    check_accelerator(name)
    return KNOWN[name] if name in KNOWN else measured(find_device(name))


class Reference:
    """Products of two 1,024 x 1,024 matrices, which come near the peak of most devices."""

    def __init__(self, device: torch.device, short: bool) -> None:
        kind = torch.bfloat16 if short else torch.float32
        self._matrix = torch.randn(1024, 1024, device=device).to(kind)

    def flops_per_second(self, seconds: float = 0.05) -> float:
        """By torch or by oneDNN, whichever is faster: training uses both."""
        matrix = self._matrix
        products = (lambda: matrix @ matrix, lambda: times(matrix, matrix))
        return 2.0 * 1024**3 / min(fastest(each, matrix.device, seconds) for each in products)


def measured(device: torch.device) -> Accelerator:
    """A device of this machine: products of matrices, additions of 256 MB, additions of single
    numbers, each for some tenths of a second."""
    many = 64_000_000
    long, one = torch.ones(many, device=device), torch.ones(1, device=device)
    exact, rounded = (Reference(device, each).flops_per_second(0.3) for each in (False, True))
    added = fastest(lambda: torch.add(long, 1.0, out=long), device, 0.3)
    started = fastest(lambda: [one + 1 for _ in range(1000)], device, 0.3) / 1000
    return Accelerator(
        device.type,
        _memory(device),
        exact,
        rounded if rounded > exact else None,
        8.0 * many / added,
        8.0 * many / added,  # between processes of a CPU, through its memory
        started,
        runtime=0.0,
        here=True,
    )


def fastest(work: Callable[[], object], device: torch.device, seconds: float) -> float:
    """Seconds of the fastest repetition, which other programs disturbed least."""
    work()
    clock = clock_of(device)
    best, end = float("inf"), clock() + seconds
    while True:
        wait_for(device)
        began = clock()
        work()
        wait_for(device)
        best = min(best, clock() - began)
        if clock() > end:
            return best


def clock_of(device: torch.device) -> Callable[[], float]:
    """What tells seconds of work there. A single thread of the CPU is timed by the processor time
    of this process, which stands still while another program has the core."""
    single = on_cpu(device) and torch.get_num_threads() == 1
    return time.process_time if single else time.perf_counter


def wait_for(device: torch.device) -> None:
    """Until everything that was started there is done."""
    if not on_cpu(device):
        torch.accelerator.synchronize()


def _memory(device: torch.device) -> float:
    """Bytes that are free."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        return float(torch.mps.recommended_max_memory())
    return float(free_memory() or 0)
