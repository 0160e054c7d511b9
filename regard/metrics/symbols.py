"""Symbol error: how many symbols of an algorithmic task are wrong, position by position."""

from __future__ import annotations

from regard.metrics.text import Percentage


class SymbolError(Percentage):
    """Wrong symbols per 100 symbols of the references; a symbol is a word.

    Symbols are compared position by position, so that all that follows a missing or an added symbol
    is likely to be wrong. A position that only one of the two sides has is an error too. Of several
    references, the one with the fewest errors counts.
    """

    name, label, higher = "symbol_error", "symbol error", False
    details = "by:position"

    def count(self, output: str, reference: str) -> tuple[int, int]:
        """Errors, and symbols of the reference."""
        found, right = output.split(), reference.split()
        same = sum(one == other for one, other in zip(found, right, strict=False))
        return max(len(found), len(right)) - same, len(right)
