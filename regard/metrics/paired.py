"""Whether one system is really better than another: the paired bootstrap test, by every metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

from regard.metrics.base import Metric
from regard.metrics.bootstrap import half_width, p_value, resample

MIN_RESAMPLES = 100


class System(NamedTuple):
    """What is compared; `notes` are added to the signatures of its scores."""

    name: str
    outputs: Sequence[str]
    notes: str = ""


@dataclass(frozen=True)
class Comparison:
    """One system and the baseline on the same lines: paired bootstrap (Koehn 2004)."""

    name: str
    metric: str
    value: float
    margin: float
    p_value: Optional[float]  # None for the baseline itself
    signature: str


def paired_bootstrap(
    systems: Sequence[System],
    sources: Sequence[str],
    references: Sequence[str],
    metrics: Sequence[Metric],
) -> list[Comparison]:
    """Compare the outputs of named systems by each metric; the first system is the baseline."""
    return [
        comparison
        for metric in metrics
        for comparison in _compare(metric, systems, sources, references)
    ]


def _compare(
    metric: Metric,
    systems: Sequence[System],
    sources: Sequence[str],
    references: Sequence[str],
) -> list[Comparison]:
    resamples = max(metric.resamples, MIN_RESAMPLES)
    found = [metric.statistics(sources, each.outputs, references) for each in systems]
    values = [metric.from_statistics(each.sum(axis=0)) for each in found]
    drawn = [resample(metric.from_statistics, each, resamples) for each in found]
    return [
        Comparison(
            name=system.name,
            metric=metric.label,
            value=values[number],
            margin=half_width(drawn[number]),
            p_value=p_value(drawn[0], drawn[number], values[number] - values[0])
            if number
            else None,
            signature=metric.signature(resamples) + system.notes,
        )
        for number, system in enumerate(systems)
    ]
