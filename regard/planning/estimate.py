"""What training would take, as numbers: memory per device, time per step, budget, cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Optional

GRADIENT_OVERLAP = 2 / 3
"""The backward pass is about this share of a step; gradients travel while it goes on."""

FULL_SHARE = 0.9
"""A plan fits if it leaves a tenth of the memory free."""


@dataclass(frozen=True)
class Memory:
    """Bytes per device. Sharded over `devices`, each keeps a part of everything that is as large as
    the weights, and gathers one layer at a time."""

    weights: float
    gradients: float
    optimizer: float
    average: float
    activations: float
    runtime: float
    gathered: float

    @property
    def state(self) -> float:
        return self.weights + self.gradients + self.optimizer + self.average

    @property
    def total(self) -> float:
        return self.state + self.activations + self.runtime

    def sharded(self, devices: int) -> float:
        return self.state / devices + self.gathered + self.activations + self.runtime

    def to_json(self, devices: int) -> dict[str, float]:
        return {**asdict(self), "total": self.total, "total_sharded": self.sharded(devices)}


@dataclass(frozen=True)
class Speed:
    """Seconds of a step: computing, and sending gradients between devices; the latter counts only
    where it takes longer than the backward pass.

    `share` is what the products reach of the device's peak: as given, as measured on a device of
    this machine, or else as `modelled` from each operation.
    """

    flops: float  # per device
    tokens: float  # of all devices
    computing: float
    sending: float
    share: float
    modelled: float

    @property
    def seconds(self) -> float:
        return self.computing + max(0.0, self.sending - GRADIENT_OVERLAP * self.computing)

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds

    def to_json(self) -> dict[str, float]:
        derived = {"seconds": self.seconds, "tokens_per_second": self.tokens_per_second}
        return {**asdict(self), **derived}


def sending_seconds(gradients: float, devices: int, link: float, sharded: bool) -> float:
    """Summing gradients around a ring, each device sends and receives them almost twice; sharded,
    the weights are gathered twice and the gradients summed and divided, three times in all."""
    if devices == 1:
        return 0.0
    return (3 if sharded else 2) * (devices - 1) / devices * gradients / link


@dataclass(frozen=True)
class Estimate:
    """The answer of `plan`. `advice` is what to do about it, in sentences."""

    model: str
    parameters: int
    vocabulary: tuple[int, Optional[int]]  # none is needed to write indices
    device: str
    count: int
    precision: str
    capacity: float  # bytes of a device
    memory: Memory
    sharded: bool
    speed: Speed
    pairs: int
    tokens_per_pair: float
    steps: int
    epochs: float
    price: Optional[float]
    advice: tuple[str, ...] = ()

    @property
    def needed(self) -> float:
        """Bytes per device."""
        return self.memory.sharded(self.count) if self.sharded else self.memory.total

    @property
    def fits(self) -> bool:
        return self.needed <= FULL_SHARE * self.capacity

    @property
    def hours(self) -> float:
        """Of training; validating and saving come on top."""
        return self.steps * self.speed.seconds / 3600

    @property
    def device_hours(self) -> float:
        return self.hours * self.count

    @property
    def cost(self) -> Optional[float]:
        return None if self.price is None else self.price * self.device_hours

    def to_json(self) -> dict[str, Any]:
        own = {**asdict(self), "memory": self.memory.to_json(self.count)}
        derived = {
            name: getattr(self, name)
            for name in ("needed", "fits", "hours", "device_hours", "cost")
        }
        return {**own, "speed": self.speed.to_json(), **derived}
