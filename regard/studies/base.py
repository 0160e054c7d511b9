"""What a study is: a claim, a measurement of it, and a verdict that follows from the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Optional, Union

from regard.drawing.charts import Chart
from regard.studies.laboratory import Laboratory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal["holds", "holds partly", "does not hold"]
VERDICTS: tuple[Verdict, ...] = ("holds", "holds partly", "does not hold")

STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5 % quantiles of Student's t distribution, from one degree of freedom on."""

SMALL = 1e-3
"""Smaller numbers are shown with an exponent."""

ROUNDING = 1e-12
"""Values that differ by no more than this part of them are the same."""


@dataclass(frozen=True)
class Number:
    """A measured value and half of its 95 % confidence interval; None if that is not known."""

    value: float
    margin: Optional[float] = None
    unit: str = ""

    @property
    def low(self) -> float:
        return self.value - (self.margin or 0.0)

    @property
    def high(self) -> float:
        return self.value + (self.margin or 0.0)

    def __str__(self) -> str:
        size = self.margin or abs(self.value)
        small = 0 < size < SMALL
        digits = 0 if self.margin is None and self.value == round(self.value) else _digits(size)
        shown = f"{self.value:.1e}" if small else f"{self.value:,.{digits}f}"
        if self.margin:
            shown += f" ± {self.margin:.1e}" if small else f" ± {self.margin:,.{digits}f}"
        return f"{shown} {self.unit}" if self.unit else shown


def _digits(size: float) -> int:
    """Decimals that show two significant digits of a number of this size."""
    if not size or not math.isfinite(size):
        return 0
    return max(0, 1 - math.floor(math.log10(size)))


def mean(values: Sequence[float], unit: str = "") -> Number:
    """The mean over seeds, with an interval by Student's t; of a single value it is not known."""
    count = len(values)
    average = math.fsum(values) / count
    if count < 2:
        return Number(average, None, unit)
    if max(values) - min(values) <= ROUNDING * abs(average):
        return Number(average, 0.0, unit)
    variance = math.fsum((value - average) ** 2 for value in values) / (count - 1)
    quantile = STUDENT_T[min(count - 2, len(STUDENT_T) - 1)]
    return Number(average, quantile * math.sqrt(variance / count), unit)


def difference(ours: Sequence[float], theirs: Sequence[float], unit: str = "") -> Number:
    """The mean of ours - theirs, paired by seed."""
    return mean([a - b for a, b in zip(ours, theirs, strict=True)], unit)


def relative_change(ours: Sequence[float], theirs: Sequence[float]) -> Number:
    """By how many per cent ours are larger than theirs, paired by seed."""
    return mean([100 * (a - b) / b for a, b in zip(ours, theirs, strict=True)], "%")


def share(right: int, count: int) -> Number:
    """A percentage of `count` trials, with the normal approximation of its interval."""
    part = right / max(1, count)
    return Number(100 * part, 196 * math.sqrt(part * (1 - part) / max(1, count)), "%")


@dataclass(frozen=True)
class Check:
    """One thing that must be so if the claim is true; `holds` is None if the intervals overlap."""

    expected: str
    measured: str
    holds: Optional[bool]


def above(expected: str, ours: Number, theirs: Union[Number, float]) -> Check:
    """Whether a number is larger than another, or than a fixed level, beyond their intervals."""
    other = theirs if isinstance(theirs, Number) else Number(theirs, None, ours.unit)
    holds = True if ours.low > other.high else False if ours.high < other.low else None
    return Check(expected, f"{ours} against {other}", holds)


def below(expected: str, ours: Number, theirs: Union[Number, float]) -> Check:
    """Whether a number is smaller than another, or than a fixed level, beyond their intervals."""
    other = theirs if isinstance(theirs, Number) else Number(theirs, None, ours.unit)
    turned = above(expected, other, ours)
    return Check(expected, f"{ours} against {other}", turned.holds)


@dataclass(frozen=True)
class Finding:
    """What a study measured. The verdict follows from its checks."""

    headline: str  # one sentence with the number that matters most
    numbers: Mapping[str, Number]
    checks: tuple[Check, ...]
    charts: tuple[Chart, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """It holds if every check does, and does not hold if none does and one is refuted."""
        holds = [check.holds for check in self.checks]
        if all(holds):
            return "holds"
        return "does not hold" if False in holds and True not in holds else "holds partly"

    @property
    def confidence(self) -> str:
        """How many of its checks were decided, and how."""
        counts = {
            "confirmed": sum(check.holds is True for check in self.checks),
            "refuted": sum(check.holds is False for check in self.checks),
            "undecided at 95 %": sum(check.holds is None for check in self.checks),
        }
        return ", ".join(f"{count} {how}" for how, count in counts.items() if count)

    @property
    def figure(self) -> Figure:
        """All charts in one matplotlib figure, which a notebook shows."""
        from regard.drawing.charts import draw
        from regard.drawing.figure import style

        with style():
            return draw(self.charts)

    def _repr_html_(self) -> str:
        """What a notebook shows: verdict, figure, numbers and checks."""
        from regard.studies.site import summary

        return summary(self)

    def __str__(self) -> str:
        return f"{self.headline} The claim {self.verdict} ({self.confidence})."


@dataclass(frozen=True)
class Study:
    """A claim of the literature, in our own words, and how it is measured."""

    title: str
    claim: str
    formula: str
    method: str  # what is measured, and how
    change: str  # how to try it differently
    meaning: str  # for someone who trains a model
    measure: Callable[[Laboratory], Finding]
    timed: bool = False  # it compares times, so that no other study may run beside it
