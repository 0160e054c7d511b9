"""Random segmentation of a word into subwords, reproducible for the same draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush

_LONGEST_PIECE = 16
_UNSEEN = -30.0


def drop_merges(
    word: str, scores: dict[str, float], probability: float, draw: Callable[[], float]
) -> list[str]:
    """BPE, best merge first, where each merge is skipped with the given probability."""
    symbols, end = list(word), len(word)
    before, after = list(range(-1, end - 1)), list(range(1, end + 1))
    agenda: list[tuple[float, int, int, str]] = []

    def offer(left: int, right: int) -> None:
        if left >= 0 and right < end:
            merged = symbols[left] + symbols[right]
            if merged in scores:
                heappush(agenda, (-scores[merged], left, right, merged))

    for left in range(end - 1):
        offer(left, left + 1)
    while agenda:
        _, left, right, merged = heappop(agenda)
        stale = after[left] != right or symbols[left] + symbols[right] != merged
        if stale or not symbols[left] or draw() < probability:
            continue
        symbols[left], symbols[right] = merged, ""
        after[left] = after[right]
        if after[left] < end:
            before[after[left]] = left
        offer(before[left], left)
        offer(left, after[left])
    return [symbol for symbol in symbols if symbol]


def walk_lattice(
    word: str, scores: dict[str, float], smoothing: float, draw: Callable[[], float]
) -> list[str]:
    """A segmentation drawn with probability proportional to exp(smoothing * its score)."""
    end = len(word)
    total = [0.0] + [-math.inf] * end  # log of the summed weight of all segmentations up to there
    arrivals: list[list[tuple[int, float]]] = [[] for _ in range(end + 1)]
    for stop in range(1, end + 1):
        for start in range(max(0, stop - _LONGEST_PIECE), stop):
            score = scores.get(word[start:stop], _UNSEEN if start + 1 == stop else None)
            if score is not None:
                arrivals[stop].append((start, total[start] + smoothing * score))
        best = max(weight for _, weight in arrivals[stop])
        total[stop] = best + math.log(sum(math.exp(w - best) for _, w in arrivals[stop]))
    pieces = []
    while end:
        share = draw()
        for start, weight in arrivals[end]:
            share -= math.exp(weight - total[end])
            chosen = start
            if share < 0:
                break
        pieces.append(word[chosen:end])
        end = chosen
    return pieces[::-1]
