"""Perplexity of text under a model, per piece and per word."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.metrics.base import Score

Scored = Sequence[tuple[float, int]]
"""log p of each line and its number of pieces, EOS included."""


def piece_perplexity(scored: Scored) -> Score:
    pieces = sum(count for _, count in scored)
    signature = f"unit:piece|pieces:{pieces}|pairs:{len(scored)}"
    return Score("perplexity", _perplexity(scored, pieces), signature)


def word_perplexity(scored: Scored, lines: Sequence[str]) -> Score:
    """Perplexity per word, which does not depend on how words are segmented into pieces.

    It is meaningless if some of the lines were truncated.
    """
    words = sum(len(line.split()) + 1 for line in lines)
    signature = f"unit:word|words:{words}|lines:{len(lines)}"
    return Score("word perplexity", _perplexity(scored, words), signature)


def _perplexity(scored: Scored, units: int) -> float:
    """exp(-log p / units), where the end of each line counts as a unit."""
    return math.exp(min(700.0, -sum(total for total, _ in scored) / units))
