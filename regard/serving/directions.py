"""A translation direction: a run that translates from one language to another, and its queue."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Optional

from regard.data.languages import Languages
from regard.errors import RegardError, UsageError
from regard.inspection.aligning import align, run_heads
from regard.inspection.alignment import AttentionHeads
from regard.metrics.alignment import Links
from regard.predict import Prediction, Predictor
from regard.runs.folder import Run
from regard.runs.languages import languages_of
from regard.runs.load import load_predictor
from regard.search.beam import Beam
from regard.serving.batching import Check, Queue, Work
from regard.serving.languages import code_of
from regard.serving.limits import Limits

Say = Callable[[str], None]


class Asked(NamedTuple):
    """A sentence to translate, and what its translation must begin with."""

    text: str
    prefix: Optional[str] = None


@dataclass(frozen=True)
class Direction:
    """From one language to another by one predictor. Everything that uses the predictor goes
    through the queue, whose thread is the only one to touch it."""

    source: str
    target: str
    name: str  # of the run
    predictor: Predictor
    search: Beam
    heads: Optional[AttentionHeads]  # None where the model has no attention to the source
    pieces: int  # the most of a sentence
    queue: Queue

    def fits(self, text: str) -> bool:
        """Whether a sentence is short enough to be read in full."""
        if len(text) * 4 < self.pieces:  # a character has at most four bytes
            return True
        (ids,) = self.predictor.tokenizers.source.encode([text])
        return len(ids) <= self.pieces


@dataclass(frozen=True)
class Translating(Work[Asked, Prediction]):
    """Finds the candidates of sentences, as many as the beam is wide."""

    direction: Direction
    beam: int
    prefixed: bool

    @property
    def group(self) -> Hashable:
        return (Translating, self.beam, self.prefixed)

    def size(self, item: Asked) -> int:
        return len(item.text)

    def compute(self, items: Sequence[Asked], check: Check) -> list[Prediction]:
        wider = self.direction.search.changed(beam=self.beam)
        predictor = copy(self.direction.predictor)
        predictor.search = wider.observed(lambda tokens, totals: check())
        prefixes = [item.prefix or "" for item in items] if self.prefixed else None
        return list(predictor.predict([item.text for item in items], prefixes))


@dataclass(frozen=True)
class Aligning(Work[tuple[str, str], Links]):
    """Links the words of a sentence and its translation, by attention."""

    direction: Direction

    @property
    def group(self) -> Hashable:
        return Aligning

    def size(self, item: tuple[str, str]) -> int:
        return sum(map(len, item))

    def compute(self, items: Sequence[tuple[str, str]], check: Check) -> list[Links]:
        if self.direction.heads is None:
            return [proportional(*item) for item in items]
        return list(align(self.direction.predictor, items, self.direction.heads, "grow-diag"))


def proportional(source: str, target: str) -> Links:
    """Links without attention: words at the same relative position belong together."""
    reads, writes = len(source.split()), len(target.split())
    return frozenset((index * reads // writes, index) for index in range(writes) if reads)


def load_directions(
    names: Sequence[str],
    limits: Limits,
    beam: Optional[int],
    say: Say,
    batched: Callable[[int], None] = lambda rows: None,
) -> list[Direction]:
    """The runs by their folders, each with its languages: those that it keeps, or those that
    follow its name, as in runs/mine:en:de."""
    found: dict[tuple[str, str], Direction] = {}
    for run, languages in [_named(name) for name in names]:
        pair = (code_of(languages.source or ""), code_of(languages.target or ""))
        if pair in found:
            raise UsageError(
                f"{run.path} and another run both translate {pair[0]} to {pair[1]}: give one."
            )
        found[pair] = _load(run, *pair, limits, beam, say, batched)
    return list(found.values())


def _named(name: str) -> tuple[Run, Languages]:
    """A run and its languages; everything that can be wrong is found before any is loaded."""
    path, *tags = (name, *()) if Run.exists(Path(name)) else name.split(":")
    if tags and len(tags) != 2:
        raise UsageError(f"'{name}' is not a run with its languages: write RUN:en:de.")
    run = Run.open(Path(path))
    if not run.config.reads_source or run.config.writes != "text":
        raise UsageError(f"{run.path} does not translate text: give a run that does.")
    if any(kind.option and not kind.reads_target for kind in run.config.annotations):
        raise UsageError(f"{run.path} reads dependency trees, which no client can send.")
    languages = Languages.of(*tags) if tags else languages_of(run)
    if languages.source is None or languages.target is None:
        raise UsageError(
            f"{run.path} does not say which languages it translates: write {path}:en:de with the "
            "right tags, or give it --source-language and --target-language with 'regard train'."
        )
    return run, languages


def _load(
    run: Run,
    source: str,
    target: str,
    limits: Limits,
    beam: Optional[int],
    say: Say,
    batched: Callable[[int], None],
) -> Direction:
    search = run.config.search if beam is None else run.config.search.changed(beam=beam)
    predictor = load_predictor(run, search, say=say)
    heads = _heads(run, predictor, say)
    pieces = min(limits.pieces, predictor.length_limit)
    say(f"Serving {source} to {target} with {run.path}.")
    queue = Queue(limits, batched)
    return Direction(source, target, run.path.name, predictor, search, heads, pieces, queue)


def _heads(run: Run, predictor: Predictor, say: Say) -> Optional[AttentionHeads]:
    """The heads that align words; models without attention to the source have none."""
    try:
        return run_heads(run, predictor, lambda text: None)
    except RegardError as error:
        say(f"Words will be aligned by their relative positions: {error}")
        return None
