"""What to do about a plan, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from regard.planning.accelerators import Accelerator
from regard.planning.estimate import FULL_SHARE, Estimate
from regard.planning.work import Work
from regard.recipes.config import Config

SEARCHED = 40
"""Halvings of an interval, to find the largest batch that fits."""

MOST_GROWTH = 64.0
"""Larger batches than so many times that of the recipe learn less per token."""

LARGER_PAYS = 1.2
"""A larger batch is recommended if it is so many times as fast."""

NEARLY_ALL = 0.95


def advice_on(estimate: Estimate, config: Config, device: Accelerator, work: Work) -> Iterator[str]:
    yield from _on_memory(estimate, config, work)
    if estimate.fits:
        yield from _on_batch(estimate, config, work)
    yield from _on_precision(estimate, config, device)
    if estimate.speed.sending > estimate.speed.computing:
        yield (
            "Sending gradients takes longer than computing them: use fewer devices, larger "
            "batches (batch.tokens), or training.accumulate."
        )


def _on_memory(estimate: Estimate, config: Config, work: Work) -> Iterator[str]:
    if estimate.sharded and estimate.fits and not config.training.shard:
        yield "It fits with training.shard=true only: weights and moments divided over the devices."
    elif not estimate.fits:
        growth = _largest_growth(work, estimate)
        if growth * work.typical_rows >= 1:
            yield f"It does not fit: set batch.tokens to {_tokens(config, growth)} or less."
        elif estimate.count > 1:
            yield "It does not fit: choose a smaller model, or more devices to shard it over."
        else:
            yield "It does not fit: choose a smaller model, or several devices (--count)."


def _on_batch(estimate: Estimate, config: Config, work: Work) -> Iterator[str]:
    """Whether larger batches would make more of the device."""
    growth = min(MOST_GROWTH, _largest_growth(work, estimate))
    speeds = {}
    while growth > 1:
        speeds[growth] = work.speed(growth, estimate.sharded).tokens_per_second
        growth /= 2
    if not speeds or max(speeds.values()) < LARGER_PAYS * estimate.speed.tokens_per_second:
        return
    enough = min(each for each in speeds if speeds[each] >= NEARLY_ALL * max(speeds.values()))
    yield (
        f"Larger batches would use the device better: batch.tokens={_tokens(config, enough)} fits "
        f"and gives {speeds[enough]:,.0f} tokens/s."
    )


def _on_precision(estimate: Estimate, config: Config, device: Accelerator) -> Iterator[str]:
    if estimate.precision != "float32" and device.bfloat16 is None:
        yield f"{estimate.device} multiplies no faster in bfloat16: set training.precision=float32."
    elif estimate.precision == "float32" and device.bfloat16 and config.model.mixed_precision:
        ratio = device.bfloat16 / device.float32
        yield (
            f"{estimate.device} multiplies {ratio:.0f} times as fast in bfloat16: plan with --set "
            "training.precision=bfloat16 too."
        )


def _largest_growth(work: Work, estimate: Estimate) -> float:
    """How many times as large a batch may be."""
    room = FULL_SHARE * estimate.capacity

    def fits(growth: float) -> bool:
        memory = work.memory(growth)
        return (memory.sharded(work.count) if estimate.sharded else memory.total) <= room

    low, high = 0.0, MOST_GROWTH
    if fits(high):
        return high
    for _ in range(SEARCHED):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _tokens(config: Config, growth: float) -> str:
    """A setting of batch.tokens, rounded down."""
    return str(max(1, int(config.batch.tokens * growth) // 256 * 256 or 1))
