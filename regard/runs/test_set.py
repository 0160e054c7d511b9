"""The pairs that a run is evaluated on: from files, or its own validation data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Optional, TypeVar

from regard.data.doctor import Profile, refuse_swapped
from regard.data.encoding import LineEncoder
from regard.data.line import Line, Pair, Sides
from regard.data.parallel import Parallel
from regard.data.targets import CLOSED, refuse_unseen
from regard.runs.folder import Run

T = TypeVar("T")


@dataclass(frozen=True)
class TestSet:
    """The pairs a run is evaluated on."""

    pairs: list[Pair]
    lines: int  # of the files, those that cannot be used as well

    @property
    def sources(self) -> list[Line]:
        return [pair.source for pair in self.pairs]

    @property
    def references(self) -> list[str]:
        return [pair.target.text for pair in self.pairs]

    @property
    def sides(self) -> list[Sides]:
        return [pair.lines for pair in self.pairs]

    @property
    def texts(self) -> list[tuple[str, str]]:
        return [pair.texts for pair in self.pairs]

    def by_line(self, found: Sequence[T], missing: T) -> list[T]:
        """What was found for each pair, with something for each line that was skipped."""
        complete = [missing] * self.lines
        for pair, each in zip(self.pairs, found, strict=True):
            complete[pair.number - 1] = each
        return complete


def read_test_set(run: Run, data: Optional[Parallel], say: Callable[[str], None]) -> TestSet:
    if not data:
        own = run.validation_pairs()
        return TestSet(own, len(own))
    pairs = run.config.pairs_of(data)
    usable = list(pairs)
    assert pairs.report is not None
    for note in pairs.report.sentences():
        say(note)
    writes = run.config.writes
    refuse_swapped(_profile(run), usable, "these files", writes)
    if writes in CLOSED:
        rows = LineEncoder(run.tokenizers().target).encode([pair.target for pair in usable])
        targets = [(pair.number, pair.target) for pair in usable]
        refuse_unseen(writes, rows, targets, partial(pairs.where, 1))
    return TestSet(usable, pairs.report.read)


def _profile(run: Run) -> Profile:
    return Profile.from_json(run.facts("data").get("profile", {}))
