"""How good a run is: scores with signatures, and whether one run is really better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, TypeVar

from regard.data.corpus import Pairs
from regard.data.doctor import refuse_swapped
from regard.data.trees import Heads, must_fit
from regard.errors import UsageError
from regard.metrics.base import Score
from regard.metrics.paired import Comparison, paired_bootstrap
from regard.metrics.perplexity import piece_perplexity, word_perplexity
from regard.metrics.table import metrics_for
from regard.metrics.text import TextMetrics
from regard.predict import Predictor
from regard.processes.pool import cores
from regard.runs.folder import Run
from regard.runs.prepare import Files, PathLike
from regard.search.base import Search

PLAIN = TextMetrics()

T = TypeVar("T")


@dataclass(frozen=True)
class Text:
    """What a run is judged on; the heads of the source words are for one that reads them."""

    sources: list[str]
    references: list[str]
    heads: Optional[Sequence[Heads]]
    places: Sequence[int]  # the line of each pair in the files, counted from 0
    lines: int  # in the files, those that cannot be used as well

    def at_their_lines(self, found: Sequence[T], missing: T) -> list[T]:
        """What was found for each pair, with something for each line that was skipped."""
        whole = [missing] * self.lines
        for place, each in zip(self.places, found, strict=True):
            whole[place] = each
        return whole

    def pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.sources, self.references, strict=True))


@dataclass(frozen=True)
class Evaluation:
    """The scores of a run on some pairs, and its outputs: one a line, empty for a skipped pair."""

    scores: tuple[Score, ...]
    outputs: tuple[str, ...]

    def __getitem__(self, name: str) -> float:
        return {score.name: score.value for score in self.scores}[name]


def evaluate(
    run: PathLike,
    *,
    source: Optional[PathLike] = None,
    target: Optional[PathLike] = None,
    pairs: Optional[PathLike] = None,
    source_heads: Optional[PathLike] = None,
    search: Optional[Search] = None,
    metrics: TextMetrics = PLAIN,
    int8: bool = False,
    shortlist: int = 0,
    say: Callable[[str], None] = print,
) -> Evaluation:
    """Translate the source and score the result against the target; perplexity comes along.

    Of a language model, whose text is a target alone, there is nothing but the perplexity.
    Without files, the run's own validation data is used.
    """
    experiment = Run.open(Path(run))
    text = _text(experiment, Files(source, target, pairs, source_heads), say)
    if not experiment.config.reads_source:
        return _evaluate_language(experiment.predictor(int8=int8, say=say), text.references, say)
    predictor = experiment.predictor(
        search, workers=cores(), int8=int8, shortlist=shortlist, say=say
    )
    outputs = predictor(text.sources, text.heads)
    _say_cut(predictor, say)
    scored = list(predictor.score(text.pairs(), text.heads))
    judges = metrics_for(experiment.config.writes, metrics)
    scores = (each.score(text.sources, outputs, text.references) for each in judges)
    return Evaluation(
        (*scores, piece_perplexity(scored)),
        tuple(text.at_their_lines(outputs, "")),
    )


def _evaluate_language(
    predictor: Predictor, lines: list[str], say: Callable[[str], None]
) -> Evaluation:
    """Perplexity by the piece, and by the word if all of them were read."""
    scored = list(predictor.score(("", line) for line in lines))
    _say_cut(predictor, say)
    by_word = () if predictor.cut else (word_perplexity(scored, lines),)
    return Evaluation((piece_perplexity(scored), *by_word), ())


def compare(
    runs: Sequence[PathLike],
    *,
    source: Optional[PathLike] = None,
    target: Optional[PathLike] = None,
    pairs: Optional[PathLike] = None,
    source_heads: Optional[PathLike] = None,
    search: Optional[Search] = None,
    metrics: TextMetrics = PLAIN,
    say: Callable[[str], None] = print,
) -> list[Comparison]:
    """Runs on the same lines, the first being the baseline, by paired bootstrap.

    Without files, the validation data is used, if all runs have the same. Heads are given to those
    runs that read them.
    """
    if len(runs) < 2:
        raise UsageError("Give at least two runs to compare.")
    experiments = [Run.open(Path(run)) for run in runs]
    if not all(each.config.reads_source for each in experiments):
        raise UsageError("A language model has no translations to compare: see 'regard evaluate'.")
    if not any(each.config.reads_heads for each in experiments):
        must_fit(False, source_heads is not None, "--source-heads")
    texts = [
        _text(
            each,
            Files(source, target, pairs, source_heads if each.config.reads_heads else None),
            say,
        )
        for each in experiments
    ]
    if any(text.pairs() != texts[0].pairs() for text in texts):
        raise UsageError("These runs have different validation data: give --source and --target.")
    systems = [
        (str(path), each.predictor(search, workers=cores(), say=say)(text.sources, text.heads))
        for path, each, text in zip(runs, experiments, texts, strict=True)
    ]
    judges = metrics_for(experiments[0].config.writes, metrics)
    return paired_bootstrap(systems, texts[0].sources, texts[0].references, judges)


def score(
    run: PathLike,
    *,
    source: Optional[PathLike] = None,
    target: Optional[PathLike] = None,
    pairs: Optional[PathLike] = None,
    source_heads: Optional[PathLike] = None,
    say: Callable[[str], None] = print,
) -> list[tuple[float, int]]:
    """log p(target | source) and the number of target tokens, for each pair; log p(target) by a
    language model. Of a pair that was skipped there are no tokens."""
    experiment = Run.open(Path(run))
    text = _text(experiment, Files(source, target, pairs, source_heads), say)
    predictor = experiment.predictor(say=say)
    scored = list(predictor.score(text.pairs(), text.heads))
    _say_cut(predictor, say)
    return text.at_their_lines(scored, (0.0, 0))


def _say_cut(predictor: Predictor, say: Callable[[str], None]) -> None:
    if predictor.cut:
        limit = predictor.length_limit
        say(f"Only the first {limit} pieces of {predictor.cut} long lines were read.")


def _text(run: Run, files: Files, say: Callable[[str], None]) -> Text:
    if not files.given():
        sources, references = run.validation_text()
        count = len(references)
        return Text(sources, references, run.validation_heads(), range(count), count)
    pairs: Pairs = files.open_for(run.config, "")
    report = pairs.check()
    for note in report.sentences():
        say(note)
    refuse_swapped(run.profile, pairs, "these files")
    usable = list(pairs)
    return Text(
        [pair.source for pair in usable],
        [pair.target for pair in usable],
        [pair.heads or () for pair in usable] if run.config.reads_heads else None,
        [pair.line - 1 for pair in usable],
        report.read,
    )
