"""Error rates: wrong symbols position by position, edits per token, and wrong lines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from regard import __version__
from regard.metrics.base import Metric, Statistics
from regard.metrics.bootstrap import SEED
from regard.metrics.text import TextMetrics


class ErrorRate(Metric):
    """Errors per 100 of what could be wrong; a token is a word of the line.

    Of several references, the one with the fewest errors counts.
    """

    higher = False
    by: ClassVar[str]  # how errors are counted, in the signature

    def __init__(self, settings: TextMetrics) -> None:
        super().__init__(settings.bootstrap)
        self.lowercase = settings.lowercase

    @staticmethod
    @abstractmethod
    def count(output: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
        """The errors in the tokens of one line, and how many there could be."""

    def statistics(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Statistics:
        """(lines, 2): errors, and how many there could be."""
        counts = [
            min(self.count(self._tokens(output), self._tokens(each)) for each in right)
            for output, *right in zip(outputs, *references, strict=True)
        ]
        return np.array(counts, dtype=np.float64).reshape(-1, 2)

    def from_statistics(self, total: NDArray[np.float64]) -> float:
        errors, possible = total.tolist()
        return 100 * (errors / possible) if possible else 0.0

    def signature(self, resamples: int, references: int = 1) -> str:
        case = "lc" if self.lowercase else "mixed"
        drawn = f"bs:{resamples}|seed:{SEED}|" if resamples else ""
        return f"nrefs:{references}|{drawn}case:{case}|by:{self.by}|version:regard-{__version__}"

    def _tokens(self, text: str) -> list[str]:
        return (text.lower() if self.lowercase else text).split()


class SymbolError(ErrorRate):
    """Wrong symbols per 100 symbols of the references.

    Symbols are compared position by position, so that all that follows a missing or an added symbol
    is likely to be wrong. A position that only one of the two sides has is an error too.
    """

    name, label, by = "symbol_error", "symbol error", "position"

    @staticmethod
    def count(output: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
        same = sum(one == other for one, other in zip(output, reference, strict=False))
        return max(len(output), len(reference)) - same, len(reference)


class TokenError(ErrorRate):
    """Edits per 100 tokens of the references: the fewest insertions, deletions and substitutions
    that make the reference of the output (Levenshtein 1966).

    Of phonemes this is the phoneme error rate, and of transcribed speech the word error rate.
    """

    name, label, by = "token_error", "token error", "edits"

    @staticmethod
    def count(output: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
        row = list(range(len(reference) + 1))  # edits from nothing to the first tokens of it
        for number, token in enumerate(output, 1):
            diagonal, row[0] = row[0], number
            for index, other in enumerate(reference, 1):
                edited = min(row[index - 1] + 1, row[index] + 1, diagonal + (token != other))
                diagonal, row[index] = row[index], edited
        return row[-1], len(reference)


class LineError(ErrorRate):
    """The percentage of lines that are not exactly right: where a line is the pronunciation of a
    word, the word error rate."""

    name, label, by = "line_error", "line error", "line"

    @staticmethod
    def count(output: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
        return int(list(output) != list(reference)), 1
