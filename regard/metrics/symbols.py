"""Symbol error: how many symbols of an algorithmic task are wrong, position by position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard import __version__
from regard.metrics.base import Metric, Statistics
from regard.metrics.bootstrap import SEED
from regard.metrics.text import TextMetrics


class SymbolError(Metric):
    """Wrong symbols per 100 symbols of the references; a symbol is a word.

    Symbols are compared position by position, so that all that follows a missing or an added symbol
    is likely to be wrong. A position that only one of the two sides has is an error too. Of several
    references, the one with the fewest errors counts.
    """

    name, label, higher = "symbol_error", "symbol error", False

    def __init__(self, settings: TextMetrics) -> None:
        super().__init__(settings.bootstrap)
        self.lowercase = settings.lowercase

    def statistics(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Statistics:
        """(lines, 2): errors, and symbols of the reference."""
        counts = [
            min(_errors(self._symbols(output), self._symbols(each)) for each in right)
            for output, *right in zip(outputs, *references, strict=True)
        ]
        return np.array(counts, dtype=np.float64).reshape(-1, 2)

    def from_statistics(self, total: NDArray[np.float64]) -> float:
        errors, symbols = total.tolist()
        return 100 * (errors / symbols) if symbols else 0.0

    def signature(self, resamples: int, references: int = 1) -> str:
        case = "lc" if self.lowercase else "mixed"
        drawn = f"bs:{resamples}|seed:{SEED}|" if resamples else ""
        return f"nrefs:{references}|{drawn}case:{case}|by:position|version:regard-{__version__}"

    def _symbols(self, text: str) -> list[str]:
        return (text.lower() if self.lowercase else text).split()


def _errors(output: list[str], reference: list[str]) -> tuple[int, int]:
    same = sum(one == other for one, other in zip(output, reference, strict=False))
    return max(len(output), len(reference)) - same, len(reference)
