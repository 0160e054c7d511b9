"""Error rates: wrong symbols position by position, edits per token, and wrong lines."""

from __future__ import annotations

from collections.abc import Sequence

from regard.metrics.text import Percentage


class SymbolError(Percentage):
    """Wrong symbols per 100 symbols of the references.

    Symbols are compared position by position, so that all that follows a missing or an added symbol
    is likely to be wrong. A position that only one of the two sides has is an error too.
    """

    name, label, higher = "symbol_error", "symbol error", False
    details = "by:position"

    def count(self, output: str, reference: str) -> tuple[int, int]:
        """Errors, and symbols of the reference."""
        found, right = output.split(), reference.split()
        same = sum(one == other for one, other in zip(found, right, strict=False))
        return max(len(found), len(right)) - same, len(right)


class TokenError(Percentage):
    """Edits per 100 tokens of the references: the fewest insertions, deletions and substitutions
    that make the reference of the output (Levenshtein 1966).

    Of phonemes this is the phoneme error rate, and of transcribed speech the word error rate.
    """

    name, label, higher = "token_error", "token error", False
    details = "by:edits"

    def count(self, output: str, reference: str) -> tuple[int, int]:
        """Edits, and tokens of the reference."""
        right = reference.split()
        return edits(output.split(), right), len(right)


class LineError(Percentage):
    """The percentage of lines that are not exactly right: where a line is the pronunciation of a
    word, the word error rate."""

    name, label, higher = "line_error", "line error", False
    details = "by:line"

    def count(self, output: str, reference: str) -> tuple[int, int]:
        """Whether it is wrong, of one line."""
        return output.split() != reference.split(), 1


def edits(output: Sequence[object], reference: Sequence[object]) -> int:
    """The fewest insertions, deletions and substitutions that make the reference of the output."""
    row = list(range(len(reference) + 1))  # edits from nothing to the first tokens of it
    for number, token in enumerate(output, 1):
        diagonal, row[0] = row[0], number
        for index, other in enumerate(reference, 1):
            edited = min(row[index - 1] + 1, row[index] + 1, diagonal + (token != other))
            diagonal, row[index] = row[index], edited
    return row[-1]
