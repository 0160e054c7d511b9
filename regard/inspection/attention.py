"""Measures of attention weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.nn.captured import Weights


def entropy(weights: Weights) -> NDArray[np.float64]:
    """(H,): -sum w log2 w of each head in bits, averaged over the positions that attend.

    0 is a head that attends to one position only; log2 S one that attends to all equally. Weights
    that may be negative count by their share of the sum of absolute values.
    """
    exact = np.abs(weights.astype(np.float64))
    exact /= np.maximum(exact.sum(axis=-1, keepdims=True), 1e-30)
    logs = np.log2(np.where(exact > 0, exact, 1.0))
    spread: NDArray[np.float64] = -(exact * logs).sum(axis=-1).mean(axis=-1)
    return spread
