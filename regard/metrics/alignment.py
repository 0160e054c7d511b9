"""Alignment error rate: how far word alignments are from those that people made."""

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
    """The alignment of a sentence pair by people: links that are sure, and all that are possible.

    Every sure link is possible too (Och & Ney 2003).
    """

    sure: Links
    possible: Links


def parse_gold(line: str, first: int = 0, turned: bool = False) -> Gold:
    """Pharaoh text: `3-4` is sure, `3p4` or `3?4` merely possible.

    `first` is the number of the first word. `turned`: the target word stands first.
    """
    sure, possible = set(), set()
    for part in line.split():
        match = _LINK.fullmatch(part)
        if match is None or min(int(match[1]), int(match[3])) < first:
            raise UsageError(
                f"'{part[:40]}' is not a link of two words: write them as 3-4, or 3p4 if possible."
            )
        link = (int(match[1]) - first, int(match[3]) - first)
        link = link[::-1] if turned else link
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links as text: 0-0 1-2 2-1."""
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
    """Error rate, precision and recall in per cent; `how` says how the links were found."""
    links = sum(map(len, found))
    sure, possible = (sum(len(getattr(each, name)) for each in gold) for name in KINDS)
    both = list(zip(found, gold, strict=True))
    precision = sum(len(a & g.possible) for a, g in both) / links if links else 0.0
    recall = sum(len(a & g.sure) for a, g in both) / sure if sure else 0.0
    counts = f"links:{links}|sure:{sure}|possible:{possible}|lines:{len(gold)}"
    return [
        Score("AER", 100 * error_rate(found, gold), f"{how}|{counts}"),
        Score("alignment precision", 100 * precision, f"of:possible|{counts}"),
        Score("alignment recall", 100 * recall, f"of:sure|{counts}"),
    ]


KINDS = ("sure", "possible")
