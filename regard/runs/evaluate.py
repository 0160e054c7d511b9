"""How good a run is: scores with signatures, and whether one run is really better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional, TypeVar

from regard.data.doctor import Profile, refuse_swapped
from regard.data.line import Line, Pair, Sides
from regard.data.parallel import Parallel, PathLike
from regard.data.text import read_plain
from regard.errors import UsageError
from regard.messages import counted, unknown
from regard.metrics.base import Metric, Score
from regard.metrics.paired import Comparison, paired_bootstrap
from regard.metrics.perplexity import piece_perplexity, word_perplexity
from regard.metrics.table import metrics_for
from regard.metrics.text import TextMetrics
from regard.predict import Predictor
from regard.processes.limit import worker_count
from regard.runs.folder import Run
from regard.runs.languages import metrics_of
from regard.runs.load import load_predictor
from regard.search.base import Search
from regard.terminal import counting

PLAIN = TextMetrics()

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

    def by_line(self, found: Sequence[T], missing: T) -> list[T]:
        """What was found for each pair, with something for each line that was skipped."""
        complete = [missing] * self.lines
        for pair, each in zip(self.pairs, found, strict=True):
            complete[pair.number - 1] = each
        return complete


@dataclass(frozen=True)
class Evaluation(Mapping[str, float]):
    """The scores of a run on some pairs, by the name of the metric: evaluation["BLEU"].

    `scores` has their signatures, and `outputs` what was written, one per line: empty if the line
    was skipped.
    """

    scores: tuple[Score, ...]
    outputs: tuple[str, ...]

    def __getitem__(self, name: str) -> float:
        found = {score.name: score.value for score in self.scores}
        if name not in found:
            raise KeyError(unknown("score", name, found))
        return found[name]

    def __iter__(self) -> Iterator[str]:
        return (score.name for score in self.scores)

    def __len__(self) -> int:
        return len(self.scores)


def evaluate(
    run: PathLike,
    data: Optional[Parallel] = None,
    *,
    references: Sequence[PathLike] = (),
    search: Optional[Search] = None,
    metrics: TextMetrics = PLAIN,
    workers: Optional[int] = None,
    int8: bool = False,
    shortlist: int = 0,
    say: Callable[[str], None] = print,
) -> Evaluation:
    """Translate the source and score the result against the target; report perplexity as well.

    For a language model, whose text is a target alone, perplexity is all there is.
    Without files, the run's own validation data is used. `references` are files with further
    translations of the source, line by line.
    """
    experiment, processes = Run.open(Path(run)), worker_count(workers)
    table = _table(experiment, metrics, data)
    given = _with_references(experiment, _test_set(experiment, data, say), data, references)
    if not experiment.config.reads_source:
        scorer = load_predictor(experiment, workers=processes, int8=int8, say=say)
        return _evaluate_language(scorer, given.references, say)
    predictor = load_predictor(
        experiment, search, workers=processes, int8=int8, shortlist=shortlist, say=say
    )
    with counting("translating", len(given.pairs)) as count:
        outputs = predictor(given.sources, count)
    predictor.report_truncated(say)
    scored = _scored(predictor, given.sides)
    texts = [line.text for line in given.sources]
    scores = (each.score(texts, outputs, given.references, *given.others) for each in table)
    return Evaluation(
        (*scores, piece_perplexity(scored)),
        tuple(given.by_line(outputs, "")),
    )


def _evaluate_language(
    predictor: Predictor, lines: list[str], say: Callable[[str], None]
) -> Evaluation:
    """Perplexity per piece, and per word if no line was truncated."""
    scored = _scored(predictor, [("", line) for line in lines])
    predictor.report_truncated(say)
    by_word = () if predictor.truncated else (word_perplexity(scored, lines),)
    return Evaluation((piece_perplexity(scored), *by_word), ())


def compare(
    runs: Sequence[PathLike],
    data: Optional[Parallel] = None,
    *,
    search: Optional[Search] = None,
    metrics: TextMetrics = PLAIN,
    workers: Optional[int] = None,
    say: Callable[[str], None] = print,
) -> list[Comparison]:
    """Compare runs on the same lines by paired bootstrap; the first is the baseline.

    Without files, the validation data is used, if all runs have the same. Trees are given to those
    runs that read them.
    """
    if len(runs) < 2:
        raise UsageError("Give at least two runs to compare.")
    processes = worker_count(workers)
    experiments = [Run.open(Path(run)) for run in runs]
    if not all(each.config.reads_source for each in experiments):
        raise UsageError("A language model has no translations to compare: see 'regard evaluate'.")
    table = _table(experiments[0], metrics, data)
    if data and not any(each.config.annotations for each in experiments):
        data.check_read_by(())
    sets = [
        _test_set(each, data and data.only(each.config.annotations), say) for each in experiments
    ]
    if any(given.texts != sets[0].texts for given in sets):
        raise UsageError("These runs have different validation data: give --source and --target.")
    systems = []
    for path, each, given in zip(runs, experiments, sets, strict=True):
        predictor = load_predictor(each, search, workers=processes, say=say)
        with counting(f"translating with {path}", len(given.pairs)) as count:
            systems.append((str(path), predictor(given.sources, count)))
    texts = [line.text for line in sets[0].sources]
    return paired_bootstrap(systems, texts, sets[0].references, table)


def score(
    run: PathLike,
    data: Optional[Parallel] = None,
    *,
    workers: Optional[int] = None,
    say: Callable[[str], None] = print,
) -> list[tuple[float, int]]:
    """log p(target | source) and the number of target tokens for each pair, or log p(target) by a
    language model; (0, 0) for a pair that was skipped."""
    experiment, processes = Run.open(Path(run)), worker_count(workers)
    given = _test_set(experiment, data, say)
    predictor = load_predictor(experiment, workers=processes, say=say)
    scored = _scored(predictor, given.sides)
    predictor.report_truncated(say)
    return given.by_line(scored, (0.0, 0))


def _table(run: Run, metrics: TextMetrics, data: Optional[Parallel]) -> tuple[Metric, ...]:
    """The metrics that judge a run."""
    chosen = run.config.training.metric
    return metrics_for(run.config.writes, metrics_of(run, metrics, data), chosen)


def _scored(predictor: Predictor, pairs: Sequence[Sides]) -> list[tuple[float, int]]:
    with counting("scoring", len(pairs)) as count:
        return list(predictor.score(pairs, count))


def _test_set(run: Run, data: Optional[Parallel], say: Callable[[str], None]) -> TestSet:
    if not data:
        own = run.validation_pairs()
        return TestSet(own, len(own))
    data.refuse_weights()
    pairs = run.config.pairs_of(data)
    usable = list(pairs)
    assert pairs.report is not None
    for note in pairs.report.sentences():
        say(note)
    refuse_swapped(_profile(run), usable, "these files")
    return TestSet(usable, pairs.report.read)


def _with_references(
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


def _profile(run: Run) -> Profile:
    return Profile.from_json(run.facts("data").get("profile", {}))
