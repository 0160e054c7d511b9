"""What most studies do: train variants that differ in one thing, and compare their scores by
seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regard.drawing.charts import Bars
from regard.studies.base import Check, Number, above, below, difference, mean


@dataclass(frozen=True)
class Ablation:
    """One score for each variant and seed."""

    label: str  # what the score is
    unit: str
    values: Mapping[str, Sequence[float]]

    def __getitem__(self, name: str) -> Number:
        return mean(self.values[name], self.unit)

    @property
    def numbers(self) -> dict[str, Number]:
        return {f"{self.label}, {name}": self[name] for name in self.values}

    def change(self, ours: str, theirs: str) -> Number:
        """How much larger the score of one variant is than that of another, paired by seed."""
        return difference(self.values[ours], self.values[theirs], self.unit)

    def higher(self, expected: str, ours: str, theirs: str, by: float = 0.0) -> Check:
        """Whether one variant scores more than another, by more than this."""
        return above(expected, self.change(ours, theirs), by)

    def lower(self, expected: str, ours: str, theirs: str, by: float = 0.0) -> Check:
        """Whether one variant scores less than another, by more than this."""
        return below(expected, self.change(ours, theirs), 0.0 - by)

    def chart(self, title: str) -> Bars:
        bars = {name: (self[name].value, self[name].margin or 0.0) for name in self.values}
        return Bars(title, f"{self.label} ({self.unit})", bars)


def ablate(
    label: str,
    unit: str,
    variants: Mapping[str, Sequence[str]],
    measure: Callable[[Sequence[str]], Sequence[float]],
) -> Ablation:
    """Measure each variant, given by its settings."""
    return Ablation(label, unit, {name: measure(each) for name, each in variants.items()})
