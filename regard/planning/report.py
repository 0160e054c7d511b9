"""A plan as names and values for people."""

from __future__ import annotations

from regard.messages import INDICES, counted
from regard.planning.estimate import Estimate

MB, GB = 1e6, 1e9


def facts_of(estimate: Estimate) -> dict[str, str]:
    memory, speed = estimate.memory, estimate.speed
    source, target = estimate.vocabulary
    parts = {
        "weights": memory.weights,
        "gradients": memory.gradients,
        "optimiser": memory.optimizer,
        "average": memory.average,
        "activations": memory.activations,
        "runtime": memory.runtime,
    }
    shown = {
        "model": f"{estimate.model} of {counted(estimate.parameters, 'parameter')}",
        "vocabulary": f"source {source:,}, target {INDICES if target is None else f'{target:,}'}",
        "device": f"{estimate.count} x {estimate.device}, {_bytes(estimate.capacity)} each",
        "precision": estimate.precision,
        "memory per device": ", ".join(f"{name} {_bytes(each)}" for name, each in parts.items()),
        "in all": _bytes(memory.total),
    }
    if estimate.count > 1:
        shown["in all, sharded"] = _bytes(memory.sharded(estimate.count))
    shown |= {
        "fits": "yes" if estimate.fits else "no",
        "a step": f"{speed.tokens:,.0f} target tokens in {_seconds(speed.seconds)}; "
        f"{speed.flops / 1e9:,.1f} GFLOP per device",
        "share of the peak": f"{speed.share:.0%}",
        "speed": f"{speed.tokens_per_second:,.0f} target tokens/s",
        "training": f"{counted(estimate.steps, 'step')}, {estimate.epochs:.3g} epochs of "
        f"{counted(estimate.pairs, 'pair')}",
        "time": _hours(estimate.hours),
        "device hours": f"{estimate.device_hours:,.3g}",
    }
    if estimate.count > 1:
        shown["sending gradients"] = f"{_seconds(speed.sending)} per step"
    if estimate.cost is not None:
        shown["cost"] = f"{estimate.cost:,.2f}"
    return shown


def _bytes(count: float) -> str:
    return f"{count / GB:,.2f} GB" if count >= GB else f"{count / MB:,.0f} MB"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def _hours(hours: float) -> str:
    if hours >= 48:
        return f"{hours / 24:,.1f} days"
    return f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"
