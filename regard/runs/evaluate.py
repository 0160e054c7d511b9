"""How good a run is: scores with signatures, and whether one run is really better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from regard.data.line import Line
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
from regard.runs.judging import Asked, judged_search, with_judges
from regard.runs.load import load_predictor
from regard.runs.test_set import read_test_set
from regard.search.base import Search

PLAIN = TextMetrics()


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
    judges: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> Evaluation:
    """Translate the source and score the result against the target; of text, report perplexity
    as well.

    For a language model, whose text is a target alone, perplexity is all there is.
    Without files, the run's own validation data is used. With judges, such as
    "channel=RUN:0.5", they choose among the candidates of each line.
    """
    experiment = Run.open(Path(run))
    given = read_test_set(experiment, data, say)
    if not experiment.config.reads_source:
        return _evaluate_language(
            load_predictor(experiment, int8=int8, say=say), given.references, say
        )
    search = judged_search(experiment, search, judges)
    predictor = load_predictor(
        experiment, search, workers=cores(), int8=int8, shortlist=shortlist, say=say
    )
    translator = with_judges(experiment, predictor, judges, say=say)
    outputs = [prediction.text for prediction in translator.predict(given.sources)]
    predictor.report_truncated(say)
    writes = experiment.config.writes
    table = metrics_for(writes, metrics, given.references)
    texts = [line.text for line in given.sources]
    scores = [each.score(texts, outputs, given.references) for each in table]
    notes = [experiment.config.model.signature]
    if judges:
        notes.append(Asked.of(experiment, judges).signature)
    for note in filter(None, notes):
        scores = [replace(each, signature=f"{each.signature}|{note}") for each in scores]
    if writes == "text":
        scores.append(piece_perplexity(list(predictor.score(given.sides))))
    return Evaluation(tuple(scores), tuple(given.by_line(outputs, "")))


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
    judges: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> list[Comparison]:
    """Compare runs on the same lines by paired bootstrap; the first is the baseline.

    Without files, the validation data is used, if all runs have the same. Trees are given to those
    runs that read them. Judges choose among the candidates of all runs but the baseline.
    """
    if len(runs) < 2:
        raise UsageError("Give at least two runs to compare.")
    experiments = [Run.open(Path(run)) for run in runs]
    if not all(each.config.reads_source for each in experiments):
        raise UsageError("A language model has no translations to compare: see 'regard evaluate'.")
    if len({each.config.writes for each in experiments}) > 1:
        raise UsageError(
            "These runs do not write the same: compare text with text, tags with tags."
        )
    if data and not any(each.config.annotations for each in experiments):
        data.check_read_by(())
    sets = [
        read_test_set(each, data and data.only(each.config.annotations), say)
        for each in experiments
    ]
    if any(given.texts != sets[0].texts for given in sets):
        raise UsageError("These runs have different validation data: give --source and --target.")
    systems = [
        (
            f"{path} with judges" if number and judges else str(path),
            _translate(each, given.sources, search, judges if number else (), say),
        )
        for number, (path, each, given) in enumerate(zip(runs, experiments, sets, strict=True))
    ]
    table = metrics_for(experiments[0].config.writes, metrics, sets[0].references)
    texts = [line.text for line in sets[0].sources]
    return paired_bootstrap(systems, texts, sets[0].references, table)


def _translate(
    run: Run,
    lines: list[Line],
    search: Optional[Search],
    judges: Sequence[str],
    say: Callable[[str], None],
) -> list[str]:
    predictor = load_predictor(run, judged_search(run, search, judges), workers=cores(), say=say)
    translator = with_judges(run, predictor, judges, say=say)
    return [prediction.text for prediction in translator.predict(lines)]


def score(
    run: PathLike, data: Optional[Parallel] = None, *, say: Callable[[str], None] = print
) -> list[tuple[float, int]]:
    """log p(target | source) and the number of target tokens for each pair, or log p(target) by a
    language model; (0, 0) for a pair that was skipped."""
    experiment = Run.open(Path(run))
    given = read_test_set(experiment, data, say)
    predictor = load_predictor(experiment, say=say)
    scored = list(predictor.score(given.sides))
    predictor.report_truncated(say)
    return given.by_line(scored, (0.0, 0))
