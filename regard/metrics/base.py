"""What every metric is: statistics per line, and a number computed from their sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Optional

import numpy as np
from numpy.typing import NDArray

from regard.metrics.bootstrap import margin

Statistics = NDArray[np.float64]
"""(lines, k): k numbers per line, which can be summed over any selection of lines."""


@dataclass(frozen=True)
class Score:
    """A number, its signature and half the width of its 95 % confidence interval, if resampled."""

    name: str
    value: float
    signature: str
    margin: Optional[float] = None

    def __str__(self) -> str:
        margin = "" if self.margin is None else f" ± {self.margin:.2f}"
        return f"{self.name} {self.value:.2f}{margin}  [{self.signature}]"


class Metric(ABC):
    """A metric of a corpus that is a function of sums over its lines.

    This is all that a bootstrap needs: it sums the statistics of resampled lines and never compares
    an output with its reference again.
    """

    name: ClassVar[str]  # in settings, such as "bleu"
    label: ClassVar[str]  # in tables, such as "BLEU"
    higher: ClassVar[bool]  # whether higher is better

    def __init__(self, resamples: int) -> None:
        self.resamples = resamples  # of the bootstrap; 0 for no confidence interval

    def applies(self, references: Sequence[str]) -> bool:
        """Whether it makes sense for such references."""
        return True

    @abstractmethod
    def statistics(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Statistics:
        """(lines, k), for each line; there may be several references, each a text of all lines."""

    @abstractmethod
    def from_statistics(self, total: NDArray[np.float64]) -> float:
        """The value of a corpus whose statistics sum to `total` (k,)."""

    @abstractmethod
    def signature(self, resamples: int, references: int = 1) -> str:
        """How the value was computed: from how many resamples its interval (0: it has none), and
        beside how many references."""

    def score(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Score:
        """The value over all lines; a single line has no confidence interval."""
        found = self.statistics(sources, outputs, *references)
        resamples = self.resamples if len(found) > 1 else 0
        return Score(
            self.label,
            self.from_statistics(found.sum(axis=0)),
            self.signature(resamples, len(references)),
            margin(self.from_statistics, found, resamples) if resamples else None,
        )
