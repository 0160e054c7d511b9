"""Bootstrap resampling over lines: confidence intervals and the paired test, for every metric."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SEED = 12345
"""The same as sacreBLEU's, and the same draws, so that both find the same intervals."""

Value = Callable[[NDArray[np.float64]], float]
"""The value of a metric, given the summed statistics of some lines."""


def resample(value: Value, statistics: NDArray[np.float64], resamples: int) -> NDArray[np.float64]:
    """The values of `resamples` corpora of as many lines (lines, k), drawn with replacement.

    Systems with equally many lines get the same draws, which is what makes a comparison paired.
    """
    draws = np.random.default_rng(SEED)
    lines = len(statistics)
    found = np.empty(resamples)
    for number in range(resamples):
        counts = np.bincount(draws.integers(0, lines, lines), minlength=lines)
        found[number] = value(counts @ statistics)
    return found


def half_width(values: NDArray[np.float64]) -> float:
    """Half the width of the interval that holds 95 % of the resampled values."""
    ranked = np.sort(values)
    outside = len(ranked) // 40
    return float(ranked[len(ranked) - outside - 1] - ranked[outside]) / 2


def margin(value: Value, statistics: NDArray[np.float64], resamples: int) -> float:
    return half_width(resample(value, statistics, resamples))


def p_value(baseline: NDArray[np.float64], system: NDArray[np.float64], difference: float) -> float:
    """How probable a difference at least this large is between systems that are equally good.

    `baseline` and `system` are values of the same resamples. Their differences, centred, stand in
    for the null hypothesis (Koehn 2004, as in Moses and sacreBLEU); two-sided. No difference at
    all is no evidence, so it has p = 1.
    """
    if difference == 0:
        return 1.0
    differences = np.abs(system - baseline)
    extreme = int((differences - differences.mean() > abs(difference)).sum())
    return (extreme + 1) / (len(differences) + 1)
