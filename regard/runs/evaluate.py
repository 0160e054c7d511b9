"""How good a run is: scores with signatures, and whether one run is really better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, TypeVar

from regard.data.doctor import Profile, refuse_swapped
from regard.data.line import Line, Pair, Sides
from regard.data.parallel import Parallel, PathLike
from regard.errors import UsageError
from regard.metrics.base import Score
from regard.metrics.paired import Comparison, paired_bootstrap
from regard.metrics.perplexity import piece_perplexity, word_perplexity
from regard.metrics.table import metrics_for
from regard.metrics.text import TextMetrics
from regard.predict import Predictor
from regard.processes.cores import cores
from regard.runs.folder import Run
from regard.runs.load import load_predictor
from regard.search.base import Search

PLAIN = TextMetrics()

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


@dataclass(frozen=True)
class Evaluation:
    """The scores of a run on some pairs, and its outputs, one per line: empty if it was skipped."""

    scores: tuple[Score, ...]
    outputs: tuple[str, ...]

    def __getitem__(self, name: str) -> float:
        return {score.name: score.value for score in self.scores}[name]


def evaluate(
    run: PathLike,
    data: Optional[Parallel] = None,
    *,
    search: Optional[Search] = None,
    metrics: TextMetrics = PLAIN,
    int8: bool = False,
    shortlist: int = 0,
    say: Callable[[str], None] = print,
) -> Evaluation:
    """Translate the source and score the result against the target; report perplexity as well.

    For a language model, whose text is a target alone, perplexity is all there is.
    Without files, the run's own validation data is used.
    """
    experiment = Run.open(Path(run))
    given = _test_set(experiment, data, say)
    if not experiment.config.reads_source:
        return _evaluate_language(
            load_predictor(experiment, int8=int8, say=say), given.references, say
        )
    predictor = load_predictor(
        experiment, search, workers=cores(), int8=int8, shortlist=shortlist, say=say
    )
    outputs = predictor(given.sources)
    predictor.report_truncated(say)
    scored = list(predictor.score(given.sides))
    table = metrics_for(experiment.config.writes, metrics, experiment.config.training.metric)
    texts = [line.text for line in given.sources]
    scores = (each.score(texts, outputs, given.references) for each in table)
    return Evaluation(
        (*scores, piece_perplexity(scored)),
        tuple(given.by_line(outputs, "")),
    )


def _evaluate_language(
    predictor: Predictor, lines: list[str], say: Callable[[str], None]
) -> Evaluation:
    """Perplexity per piece, and per word if no line was truncated."""
    scored = list(predictor.score(("", line) for line in lines))
    predictor.report_truncated(say)
    by_word = () if predictor.truncated else (word_perplexity(scored, lines),)
    return Evaluation((piece_perplexity(scored), *by_word), ())


def compare(
    runs: Sequence[PathLike],
    data: Optional[Parallel] = None,
    *,
    search: Optional[Search] = None,
    metrics: TextMetrics = PLAIN,
    say: Callable[[str], None] = print,
) -> list[Comparison]:
    """Compare runs on the same lines by paired bootstrap; the first is the baseline.

    Without files, the validation data is used, if all runs have the same. Trees are given to those
    runs that read them.
    """
    if len(runs) < 2:
        raise UsageError("Give at least two runs to compare.")
    experiments = [Run.open(Path(run)) for run in runs]
    if not all(each.config.reads_source for each in experiments):
        raise UsageError("A language model has no translations to compare: see 'regard evaluate'.")
    if data and not any(each.config.annotations for each in experiments):
        data.check_read_by(())
    sets = [
        _test_set(each, data and data.only(each.config.annotations), say) for each in experiments
    ]
    if any(given.texts != sets[0].texts for given in sets):
        raise UsageError("These runs have different validation data: give --source and --target.")
    systems = [
        (str(path), load_predictor(each, search, workers=cores(), say=say)(given.sources))
        for path, each, given in zip(runs, experiments, sets, strict=True)
    ]
    first = experiments[0].config
    table = metrics_for(first.writes, metrics, first.training.metric)
    texts = [line.text for line in sets[0].sources]
    return paired_bootstrap(systems, texts, sets[0].references, table)


def score(
    run: PathLike, data: Optional[Parallel] = None, *, say: Callable[[str], None] = print
) -> list[tuple[float, int]]:
    """log p(target | source) and the number of target tokens for each pair, or log p(target) by a
    language model; (0, 0) for a pair that was skipped."""
    experiment = Run.open(Path(run))
    given = _test_set(experiment, data, say)
    predictor = load_predictor(experiment, say=say)
    scored = list(predictor.score(given.sides))
    predictor.report_truncated(say)
    return given.by_line(scored, (0.0, 0))


def _test_set(run: Run, data: Optional[Parallel], say: Callable[[str], None]) -> TestSet:
    if not data:
        own = run.validation_pairs()
        return TestSet(own, len(own))
    pairs = run.config.pairs_of(data)
    usable = list(pairs)
    assert pairs.report is not None
    for note in pairs.report.sentences():
        say(note)
    refuse_swapped(_profile(run), usable, "these files")
    return TestSet(usable, pairs.report.read)


def _profile(run: Run) -> Profile:
    return Profile.from_json(run.facts("data").get("profile", {}))
