"""Alignment error rate: how far word alignments are from manual ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.errors import UsageError
from regard.metrics.base import Score

Links = frozenset[tuple[int, int]]
"""Pairs of a source word and a target word, counted from 0."""

_LINK = re.compile(r"([0-9]{1,9})([-p?])([0-9]{1,9})")


@dataclass(frozen=True)
class Gold:
    """The manual alignment of a sentence pair: its sure links, and all possible ones.

    Every sure link is also possible (Och & Ney 2003).
    """

    sure: Links
    possible: Links


def parse_gold(line: str, first: int = 0, swapped: bool = False) -> Gold:
    """Pharaoh format: `3-4` is sure, `3p4` or `3?4` merely possible.

    `first` is the index of the first word. `swapped`: the target word comes first in each link.
    """
    sure, possible = set(), set()
    for part in line.split():
        match = _LINK.fullmatch(part)
        if match is None or min(int(match[1]), int(match[3])) < first:
            raise UsageError(
                f"'{part[:40]}' is not a link of two words: write 3-4, or 3p4 if possible."
            )
        link = (int(match[1]) - first, int(match[3]) - first)
        link = link[::-1] if swapped else link
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links in Pharaoh format: 0-0 1-2 2-1."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def error_rate(found: Sequence[Links], gold: Sequence[Gold]) -> float:
    """AER = 1 - (|A and S| + |A and P|) / (|A| + |S|), over all sentences together, from 0 to 1."""
    hits = sum(
        len(links & each.sure) + len(links & each.possible)
        for links, each in zip(found, gold, strict=True)
    )
    all_links = sum(map(len, found)) + sum(len(each.sure) for each in gold)
    return 1 - hits / all_links if all_links else 0.0


def alignment_scores(found: Sequence[Links], gold: Sequence[Gold], how: str) -> list[Score]:
    """Error rate, precision and recall in per cent; `how` says how the links were made."""
    links = sum(map(len, found))
    sure = sum(len(each.sure) for each in gold)
    possible = sum(len(each.possible) for each in gold)
    both = list(zip(found, gold, strict=True))
    precision = sum(len(a & g.possible) for a, g in both) / links if links else 0.0
    recall = sum(len(a & g.sure) for a, g in both) / sure if sure else 0.0
    counts = f"links:{links}|sure:{sure}|possible:{possible}|lines:{len(gold)}"
    return [
        Score("AER", 100 * error_rate(found, gold), f"{how}|{counts}"),
        Score("alignment precision", 100 * precision, f"of:possible|{counts}"),
        Score("alignment recall", 100 * recall, f"of:sure|{counts}"),
    ]
