"""Sentences from the command line or a file, and a look at each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Optional, Union

from regard.data.annotations import Kinds
from regard.data.corpus import Beside, annotate, load_all
from regard.data.languages import Languages
from regard.data.line import Line
from regard.data.parallel import Parallel
from regard.data.text import read_plain
from regard.errors import UsageError
from regard.inspection.aligning import run_heads
from regard.inspection.look import Look, look
from regard.messages import counted
from regard.predict import Predictor
from regard.runs.directions import tags_for
from regard.runs.folder import Run
from regard.runs.load import load_predictor

MAX_SENTENCES = 50
"""Sentences on one page, which must stay light enough to open."""

Sentence = tuple[Line, Optional[str]]
"""A source and the target that is forced, if there is one."""


def sentences_for(
    run: Run,
    given: Union[str, Path, None],
    targets: Union[str, Path, None],
    trees: Optional[Path],
) -> list[Sentence]:
    """What to look at, with the annotations that the model reads."""
    if given is None and trees is None:
        return [_first_sentence(run)]
    annotated = Parallel(trees=trees)
    annotated.check_read_by(run.config.annotations)
    return _read_sentences(given, targets, annotated.beside(), run.config.annotations)


def _read_sentences(
    given: Union[str, Path, None],
    targets: Union[str, Path, None],
    annotations: Beside,
    kinds: Kinds,
) -> list[Sentence]:
    """One sentence or the sentences of a file, each with its target if targets are given."""
    lines = list(read_plain(given)) if isinstance(given, Path) else [given or ""]
    forced: list[Optional[str]] = [targets if isinstance(targets, str) else None] * len(lines)
    if isinstance(targets, Path):
        forced = list(read_plain(targets))
    if len(lines) != len(forced):
        raise UsageError(
            f"{given} has {counted(len(lines), 'line')} and {targets} has {len(forced):,}: "
            "give one target per sentence."
        )
    annotated = annotate(lines, annotations)
    if isinstance(given, Path):
        annotated = load_all(annotated, kinds, given)
    sentences = list(zip(annotated, forced, strict=True))
    if not isinstance(given, Path):
        return sentences
    filled = [each for each in sentences if each[0].text.strip()]
    if not 1 <= len(filled) <= MAX_SENTENCES:
        raise UsageError(f"{given} has {len(filled)} sentences: a page shows 1 to {MAX_SENTENCES}.")
    return filled


def _first_sentence(run: Run) -> Sentence:
    """A sentence of the validation data, to begin with; for a language model, its first words."""
    run.check_trained_here("it has no sentences to begin with; give one")
    (pair,) = run.validation_pairs(1)
    if run.config.model.reads_source:
        return pair.source, None
    return Line(" ".join(pair.target.text.split()[:3])), None


def load_for_looking(
    run: Run,
    beam: Optional[int],
    say: Callable[[str], None],
    languages: tuple[Optional[str], Optional[str]] = (None, None),
) -> Predictor:
    """The predictor of a run, with another beam size if one is given."""
    search = run.config.search
    if beam is not None:
        search = search.changed(beam=beam, best=1)
    return load_predictor(run, search, tags=tags_for(run, Languages(*languages), say), say=say)


def look_at_all(
    run: Run, predictor: Predictor, sentences: Sequence[Sentence], say: Callable[[str], None]
) -> list[Look]:
    """A look at each sentence, aligned by the heads of the run if its model aligns."""
    looks = [look(predictor, *each) for each in sentences]
    aligns = run.config.writes == "text" and looks[0].picture is None
    if looks[0].layers.cross and aligns:
        heads = run_heads(run, predictor, say)
        looks = [replace(each, attention_heads=heads) for each in looks]
    return looks
