"""Translation directions: runs that translate from one language to another, and their queues."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Optional, cast

import torch

from regard.data.languages import Languages
from regard.data.line import Line
from regard.errors import RegardError, UsageError
from regard.inspection.aligning import align, run_heads
from regard.inspection.alignment import AttentionHeads
from regard.interop.engine import Engine, check_engine, load_engine
from regard.metrics.alignment import Links
from regard.predict import Prediction, Predictor
from regard.processes.limit import worker_count
from regard.runs.directions import directions_of, tags_for
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
    through the queue, whose thread is the only one to touch it; directions of one run share it."""

    source: str
    target: str
    name: str  # of the run
    predictor: Predictor
    aligner: Predictor  # whose attention aligns words: not every engine gives any
    search: Beam
    heads: Optional[AttentionHeads]  # None where the model has no attention to the source
    pieces: int  # the most of a sentence
    queue: Queue

    @property
    def languages(self) -> Languages:
        """What tells the directions of one queue apart: only their own work is batched."""
        return Languages(self.source, self.target)

    @property
    def target_pieces(self) -> int:
        """The most of a translation, and so of what it begins with."""
        return int(self.search.limits(torch.tensor(self.pieces))) - 1

    def begins(self, prefix: str) -> bool:
        """Whether the translation of a sentence may be so long that it begins with this."""
        if len(prefix) * 4 < self.target_pieces:
            return True
        (row,) = self.predictor.tokenizers.target.encode([prefix])
        return len(row) <= self.target_pieces

    def fits(self, text: str) -> bool:
        """Whether a sentence is short enough to be read in full."""
        if (len(text) + len(self.predictor.tags) + 1) * 4 < self.pieces:
            return True  # a character has at most four bytes
        (row,) = self.predictor.read_sources([Line(text)])
        return len(row) <= self.pieces


@dataclass(frozen=True)
class Translating(Work[Asked, Prediction]):
    """Finds the candidates of sentences, as many as the beam is wide."""

    direction: Direction
    beam: int
    prefixed: bool

    @property
    def group(self) -> Hashable:
        return (Translating, self.direction.languages, self.beam, self.prefixed)

    def size(self, item: Asked) -> int:
        return len(item.text)

    def compute(self, items: Sequence[Asked], check: Check) -> list[Prediction]:
        wider = self.direction.search.changed(beam=self.beam)
        predictor = copy(self.direction.predictor)
        predictor.search = wider.observed(lambda tokens, totals: check())
        prefixes = [item.prefix or "" for item in items] if self.prefixed else None
        check()
        return list(predictor.predict([item.text for item in items], prefixes))


@dataclass(frozen=True)
class Aligning(Work[tuple[str, str], Links]):
    """Links the words of a sentence and its translation, by attention."""

    direction: Direction

    @property
    def group(self) -> Hashable:
        return (Aligning, self.direction.languages)

    def size(self, item: tuple[str, str]) -> int:
        return sum(map(len, item))

    def compute(self, items: Sequence[tuple[str, str]], check: Check) -> list[Links]:
        if self.direction.heads is None:
            return [proportional(*item) for item in items]
        return list(align(self.direction.aligner, items, self.direction.heads, "grow-diag"))


def proportional(source: str, target: str) -> Links:
    """Links without attention: words at the same relative position belong together."""
    reads, writes = len(source.split()), len(target.split())
    return frozenset((index * reads // writes, index) for index in range(writes) if reads)


class Named(NamedTuple):
    """A run, others that form an ensemble with it, and a direction in which it translates."""

    run: Run
    others: list[Path]
    languages: Languages
    tags: str  # that ask a run of several directions for this one

    @property
    def codes(self) -> Languages:
        """The languages as clients name them."""
        return Languages(*(code_of(each) for each in self.languages if each))


@dataclass(frozen=True)
class Loaded:
    """What the directions of one run have in common."""

    predictor: Predictor
    aligner: Predictor
    heads: Optional[AttentionHeads]
    queue: Queue


def load_directions(
    names: Sequence[str],
    limits: Limits,
    beam: Optional[int],
    say: Say,
    batched: Callable[[int], None] = lambda rows: None,
    engine: Engine = "torch",
    int8: bool = False,
) -> list[Direction]:
    """The runs by their folders, each with its languages: those that it keeps, or those that
    follow its name, as in runs/mine:en:de. Runs joined by + are an ensemble."""
    loaded, found = dict[tuple[Path, ...], Loaded](), list[Direction]()
    for named in check_runs(names, engine):
        run, key = named.run, (named.run.path, *named.others)
        if key not in loaded:
            search = run.config.search if beam is None else run.config.search.changed(beam=beam)
            threads = 1 if engine == "torch" else worker_count(None)
            load = partial(load_engine, run, engine, search, workers=threads, int8=int8)
            predictor = load(ensemble=named.others, say=say)
            is_plain = engine == "torch" and not named.others
            aligner = predictor if is_plain else load_predictor(run, search, say=say)
            heads = _heads(run, aligner, say)
            loaded[key] = Loaded(predictor, aligner, heads, Queue(limits, batched))
        found.append(_direction(named, loaded[key], limits))
        source, target = named.codes
        say(f"Serving {source} to {target} with {run.path}.")
    return found


def _direction(named: Named, loaded: Loaded, limits: Limits) -> Direction:
    predictor, aligner = copy(loaded.predictor), copy(loaded.aligner)
    predictor.tags = aligner.tags = named.tags
    pieces = min(limits.pieces, predictor.length_limit)
    search = cast(Beam, predictor.search)
    made = named.run.path.name, predictor, aligner, search, loaded.heads, pieces, loaded.queue
    source, target = named.codes
    return Direction(str(source), str(target), *made)


def check_runs(names: Sequence[str], engine: Engine = "torch") -> list[Named]:
    """What names mean; all errors in them are found before any run is loaded."""
    check_engine(engine)
    if not names:
        raise UsageError("There is nothing to serve: give a run.")
    found: dict[Languages, Named] = {}
    for named in (each for name in names for each in _named(name)):
        source, target = named.codes
        if named.codes in found:
            raise UsageError(
                f"{named.run.path} and another run both translate {source} to {target}: give one."
            )
        if named.others and engine != "torch":
            raise UsageError("An ensemble needs --engine torch.")
        found[named.codes] = named
    return list(found.values())


def _named(name: str) -> list[Named]:
    """The directions that a name stands for: several if it is that of a run of several."""
    path, *tags = (name, *()) if Run.exists(Path(name)) else name.split(":")
    if tags and len(tags) != 2:
        raise UsageError(f"'{name}' is not a run followed by its languages: write RUN:en:de.")
    path, *others = (path, *()) if Run.exists(Path(path)) else path.split("+")
    run, *_ = [Run.open(Path(each)) for each in (path, *others)]
    config = run.config
    if not (config.reads_source and config.reads_text and config.writes == "text"):
        raise UsageError(f"{run.path} does not translate text: give a run that does.")
    if any(kind.option and not kind.reads_target for kind in run.config.annotations):
        raise UsageError(f"{run.path} reads dependency trees, which no client can send.")
    several = run.config.tokenizer.tags is not None
    known = directions_of(run) if several else [languages_of(run)]
    asked = [Languages.of(*tags)] if tags else known
    if any(None in languages for languages in asked):
        raise UsageError(
            f"{run.path} does not say which languages it translates: add them, as in {path}:en:de, "
            "or give --source-language and --target-language when you train."
        )
    together = list(map(Path, others))
    return [
        Named(run, together, each, tags_for(run, each, lambda text: None) if several else "")
        for each in asked
    ]


def _heads(run: Run, predictor: Predictor, say: Say) -> Optional[AttentionHeads]:
    """The heads that align words; models without attention to the source have none."""
    try:
        return run_heads(run, predictor, lambda text: None)
    except RegardError as error:
        say(f"Words will be aligned by their relative positions: {error}")
        return None
