"""How long a target is for its source: what is usual is learned from the corpus itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

UNUSUAL = 7.0
"""A length this many standard deviations from the expected one is reported."""

_SHORTEST = 30
"""Characters of the longer side below which the lengths of a pair say nothing."""

_LEAST_SPREAD = 1.0


class Lengths:
    """The deviation of Gale & Church (1993): (target - c * source) / sqrt(v * mean length).

    Here c is the median ratio and v follows from the median deviation, which damaged pairs do not
    change.
    """

    def __init__(self, sources: Counts, targets: Counts) -> None:
        known = (sources > 0) & (targets > 0)
        sources, targets = sources[known], targets[known]
        self.ratio = float(np.median(targets / sources)) if len(sources) else 1.0
        spread = (
            1.4826 * float(np.median(np.abs(self._raw(sources, targets)))) if len(sources) else 0
        )
        self.spread = max(_LEAST_SPREAD, spread)

    def deviation(self, sources: Counts, targets: Counts) -> NDArray[np.float64]:
        """In standard deviations; nan where a side is empty."""
        known = (sources > 0) & (targets > 0)
        return np.where(known, self._raw(sources, targets) / self.spread, np.nan)

    def unusual(self, sources: Counts, targets: Counts) -> NDArray[np.bool_]:
        long = np.maximum(sources, targets) >= _SHORTEST
        return long & (np.abs(self.deviation(sources, targets)) > UNUSUAL)

    def _raw(self, sources: Counts, targets: Counts) -> NDArray[np.float64]:
        mean = (self.ratio * sources + targets) / 2
        return np.asarray((targets - self.ratio * sources) / np.sqrt(np.maximum(mean, 1)))
