"""The pairs that a run is evaluated on: from files, or its own validation data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Optional, TypeVar

from regard.data.doctor import Profile, refuse_swapped
from regard.data.encoding import LineEncoder
from regard.data.line import Line, Pair, Sides
from regard.data.parallel import Parallel, PathLike
from regard.data.tags import without_tags
from regard.data.targets import CLOSED, refuse_unseen
from regard.data.text import read_plain
from regard.errors import UsageError
from regard.messages import counted
from regard.runs.directions import are_mixed, directions_of
from regard.runs.folder import Run

T = TypeVar("T")


@dataclass(frozen=True)
class TestSet:
    """The pairs a run is evaluated on."""

    pairs: list[Pair]
    lines: int  # of the files, those that cannot be used as well
    others: tuple[list[str], ...] = ()  # further references, one per pair each

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

    @property
    def untagged(self) -> list[tuple[str, str]]:
        """The texts as in their files, whatever tags the run reads."""
        return [(without_tags(source), target) for source, target in self.texts]

    def by_line(self, found: Sequence[T], missing: T) -> list[T]:
        """What was found for each pair, with something for each line that was skipped."""
        complete = [missing] * self.lines
        for pair, each in zip(self.pairs, found, strict=True):
            complete[pair.number - 1] = each
        return complete


def read_test_set(run: Run, data: Optional[Parallel], say: Callable[[str], None]) -> TestSet:
    if not data:
        run.check_trained_here("it has no validation data; give --source and --target")
        own = run.validation_pairs()
        return TestSet(own, len(own))
    data.refuse_weights()
    pairs = run.config.pairs_of(data)
    usable = list(pairs)
    assert pairs.report is not None
    for note in pairs.report.sentences():
        say(note)
    writes = run.config.writes
    refuse_swapped(profile_of(run), usable, "these files", writes)
    if writes in CLOSED:
        rows = LineEncoder(run.tokenizers().target).encode([pair.target for pair in usable])
        targets = [(pair.number, pair.target) for pair in usable]
        refuse_unseen(writes, rows, targets, partial(pairs.where, 1))
    return TestSet(usable, pairs.report.read)


def with_references(
    run: Run, given: TestSet, data: Optional[Parallel], references: Sequence[PathLike]
) -> TestSet:
    """The test set with further references, of which each usable line must have one."""
    if not references:
        return given
    if not run.config.reads_source or run.config.writes != "text":
        raise UsageError("--reference is for models that translate; remove it.")
    if not data:
        raise UsageError("--reference has no effect without files; give --source and --target.")
    others = [_read_reference(Path(path), given) for path in references]
    return replace(given, others=tuple(others))


def _read_reference(path: Path, given: TestSet) -> list[str]:
    lines = list(read_plain(path))
    if len(lines) != given.lines:
        raise UsageError(
            f"{path} has {counted(len(lines), 'line')} but the source has {given.lines:,}: give a "
            "reference for each line."
        )
    found = [(pair.number, lines[pair.number - 1]) for pair in given.pairs]
    if empty := [number for number, line in found if not line.strip()]:
        raise UsageError(f"{path}:{empty[0]} is empty: give a reference for each line.")
    return [line for _, line in found]


def profile_of(run: Run) -> Profile:
    """Of the training data; empty where it tells nothing: for a run that has none, and for one that
    reads a language that it also writes."""
    if run.origin is not None or are_mixed(directions_of(run)):
        return Profile({}, {})
    return Profile.from_json(run.facts("data").get("profile", {}))
