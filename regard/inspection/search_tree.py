"""The search as a tree: every hypothesis that the beam kept, and what became of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from regard.data.batch import EOS
from regard.search.base import Hypothesis

Fate = Literal["went on", "dropped", "finished", "open"]
"""open: it was still in the beam when the search had enough."""

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """A hypothesis that was in the beam: its last token; its ancestors hold the others."""

    parent: int  # index in the list of nodes, -1 for the first token
    token: int
    step: int  # tokens so far
    log_probability: float  # of all tokens so far
    fate: Fate
    rank: int  # of a finished hypothesis by its score, from 0; -1 for the others
    score: float


class Trace:
    """An observer of a search for one sentence: `trace.nodes(found)` is the tree."""

    def __init__(self) -> None:
        self.totals: dict[Tokens, float] = {}
        self.steps = 0

    def __call__(self, tokens: Tensor, totals: Tensor) -> None:
        """tokens (1, copies, 1 + length) and totals (1, copies) after a step."""
        self.steps += 1
        for path, total in zip(tokens[0, :, 1:].tolist(), totals[0].tolist(), strict=True):
            if math.isfinite(total):
                self.totals[tuple(path)] = total

    def nodes(self, found: Sequence[Hypothesis]) -> tuple[Node, ...]:
        """The tree, parents before children; `found` are the finished hypotheses, best first.

        What was written without a search has none.
        """
        if not self.steps:
            return ()
        ends = {(*each.tokens, EOS): rank for rank, each in enumerate(found)}
        totals = {**self.totals, **{(*h.tokens, EOS): h.log_probability for h in found}}
        order = sorted(totals, key=len)
        indices = {path: index for index, path in enumerate(order)}
        parents = {path[:-1] for path in order}
        return tuple(
            Node(
                parent=indices.get(path[:-1], -1),
                token=path[-1],
                step=len(path),
                log_probability=totals[path],
                fate=self._fate(path, path in ends, path in parents),
                rank=ends.get(path, -1),
                score=found[ends[path]].score if path in ends else totals[path],
            )
            for path in order
        )

    def _fate(self, path: Tokens, ended: bool, has_children: bool) -> Fate:
        if ended:
            return "finished"
        if has_children:
            return "went on"
        return "open" if len(path) == self.steps else "dropped"
