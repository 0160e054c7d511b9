"""How good a run is: scores with signatures, and whether one run is really better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from regard.data.languages import Languages
from regard.data.line import Sides
from regard.data.parallel import Parallel, PathLike, check_parallel
from regard.errors import UsageError
from regard.messages import unknown
from regard.metrics.base import Score
from regard.metrics.paired import Comparison, System, paired_bootstrap
from regard.metrics.perplexity import piece_perplexity, word_perplexity
from regard.metrics.table import metrics_for
from regard.metrics.text import TextMetrics
from regard.predict import Predictor
from regard.processes.limit import worker_count
from regard.recipes.config import Config
from regard.runs.folder import Run
from regard.runs.judging import Asked, judged_search, with_judges
from regard.runs.languages import metrics_of
from regard.runs.load import load_predictor
from regard.runs.test_set import TestSet, read_test_set, with_references
from regard.search.base import Search
from regard.terminal import counting

PLAIN = TextMetrics()


@dataclass(frozen=True)
class Evaluation(Mapping[str, float]):
    """The scores of a run on some pairs, by the name of the metric: evaluation["BLEU"].

    `scores` has their signatures, and `outputs` the predictions, one per line: empty if the line
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
    judges: Sequence[str] = (),
    ensemble: Sequence[PathLike] = (),
    say: Callable[[str], None] = print,
) -> Evaluation:
    """Translate the source and score the result against the target; of text, report perplexity
    as well.

    For a language model, whose text is a target alone, perplexity is all there is.
    Without files, the run's own validation data is used. `references` are files with further
    translations of the source, line by line. With judges, such as "channel=RUN:0.5", they choose
    among the candidates of each line. `ensemble` are runs that translate together with this one.
    Where the pairs are of several directions, each has its score too.
    """
    check_parallel(data)
    experiment, processes = Run.open(Path(run)), worker_count(workers)
    given = with_references(experiment, read_test_set(experiment, data, say), data, references)
    if not experiment.config.reads_source:
        scorer = load_predictor(experiment, workers=processes, int8=int8, say=say)
        return _evaluate_language(scorer, given.references, say)
    search = judged_search(experiment, search, judges)
    predictor = load_predictor(
        *(experiment, search),
        workers=processes,
        int8=int8,
        shortlist=shortlist,
        ensemble=ensemble,
        say=say,
    )
    translator = with_judges(experiment, predictor, judges, say=say)
    with counting("translating", len(given.pairs)) as count:
        outputs = [each.text for each in translator.predict(given.sources, count=count)]
    translator.report_truncated(say)
    writes = experiment.config.writes
    of_target = metrics_of(experiment, metrics, data)
    table = metrics_for(writes, of_target, given.references, experiment.config.metric)
    texts = [line.text for line in given.sources]
    scores = [each.score(texts, outputs, given.references, *given.others) for each in table]
    scores += _by_direction(given, outputs, experiment.config, metrics)
    notes = _notes(experiment, judges, ensemble)
    scores = [replace(each, signature=each.signature + notes) for each in scores]
    if writes == "text":
        scores.append(piece_perplexity(_scored(predictor, given.sides)))
    return Evaluation(tuple(scores), tuple(given.by_line(outputs, "")))


def _notes(run: Run, judges: Sequence[str], ensemble: Sequence[PathLike]) -> str:
    """What the signatures of a run's scores say besides the metric."""
    notes = [run.config.model.signature, f"runs:{1 + len(ensemble)}" if ensemble else ""]
    if judges:
        notes.append(Asked.of(run, judges).signature)
    return "".join(f"|{note}" for note in notes if note)


def _by_direction(
    given: TestSet, outputs: Sequence[str], config: Config, metrics: TextMetrics
) -> list[Score]:
    """The main metric of each direction, if there are several, as the target language needs it."""
    found, texts = dict[Languages, list[int]](), given.texts
    for index, pair in enumerate(given.pairs):
        if pair.languages is not None:
            found.setdefault(pair.languages, []).append(index)
    scores = list[Score]()
    for languages, rows in sorted(found.items()) if len(found) > 1 else ():
        sources, references = zip(*(texts[row] for row in rows), strict=True)
        chosen = metrics.for_language(languages.target)
        metric = metrics_for(config.writes, chosen, references, config.metric)[0]
        score = metric.score(sources, [outputs[row] for row in rows], references)
        name = f"{score.name} {languages.source}-{languages.target}"
        scores.append(replace(score, name=name))
    return scores


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
    judges: Sequence[str] = (),
    ensemble: Sequence[PathLike] = (),
    say: Callable[[str], None] = print,
) -> list[Comparison]:
    """Compare runs on the same lines by paired bootstrap; the first is the baseline.

    Without files, the validation data is used, if all runs have the same. Trees are given to those
    runs that read them. Judges choose among the candidates of all runs but the baseline, and the
    runs of an ensemble translate together with all but the baseline.
    """
    check_parallel(data)
    if len(runs) < 2:
        raise UsageError("Give at least two runs to compare.")
    processes = worker_count(workers)
    experiments = [Run.open(Path(run)) for run in runs]
    if not all(each.config.reads_source for each in experiments):
        raise UsageError("A language model has no translations to compare: see 'regard evaluate'.")
    if len({each.config.writes for each in experiments}) > 1:
        raise UsageError(
            "These runs write different kinds of target: compare text with text, tags with tags."
        )
    metrics = metrics_of(experiments[0], metrics, data)
    if data and not any(each.config.annotations for each in experiments):
        data.check_read_by(())
    sets = [
        read_test_set(each, data and data.only(each.config.annotations), say)
        for each in experiments
    ]
    if any(given.untagged != sets[0].untagged for given in sets):
        raise UsageError("These runs have different validation data: give --source and --target.")
    systems = [
        _system(
            path, each, given, search, (judges, ensemble) if number else ((), ()), processes, say
        )
        for number, (path, each, given) in enumerate(zip(runs, experiments, sets, strict=True))
    ]
    config = experiments[0].config
    table = metrics_for(config.writes, metrics, sets[0].references, config.metric)
    texts = [line.text for line in sets[0].sources]
    return paired_bootstrap(systems, texts, sets[0].references, table)


def _system(
    path: PathLike,
    run: Run,
    given: TestSet,
    search: Optional[Search],
    helpers: tuple[Sequence[str], Sequence[PathLike]],
    processes: int,
    say: Callable[[str], None],
) -> System:
    """What a run writes with the help of its judges and the other runs of an ensemble."""
    judges, ensemble = helpers
    search = judged_search(run, search, judges)
    predictor = load_predictor(run, search, workers=processes, ensemble=ensemble, say=say)
    translator = with_judges(run, predictor, judges, say=say)
    with counting(f"translating with {run.path}", len(given.pairs)) as count:
        outputs = [each.text for each in translator.predict(given.sources, count=count)]
    translator.report_truncated(say)
    others = " with ".join(["", *map(str, ensemble)])
    name = f"{path}{others}{' with judges' if judges else ''}"
    return System(name, outputs, _notes(run, judges, ensemble))


def score(
    run: PathLike,
    data: Optional[Parallel] = None,
    *,
    workers: Optional[int] = None,
    ensemble: Sequence[PathLike] = (),
    say: Callable[[str], None] = print,
) -> list[tuple[float, int]]:
    """log p(target | source) and the number of target tokens for each pair, or log p(target) by a
    language model; (0, 0) for a pair that was skipped."""
    check_parallel(data)
    experiment, processes = Run.open(Path(run)), worker_count(workers)
    given = read_test_set(experiment, data, say)
    predictor = load_predictor(experiment, workers=processes, ensemble=ensemble, say=say)
    scored = _scored(predictor, given.sides)
    predictor.report_truncated(say)
    return given.by_line(scored, (0.0, 0))


def _scored(predictor: Predictor, pairs: Sequence[Sides]) -> list[tuple[float, int]]:
    with counting("scoring", len(pairs)) as count:
        return list(predictor.score(pairs, count))
