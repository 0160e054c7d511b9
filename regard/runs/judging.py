"""Judges that are runs: loading them, finding their weights, and keeping these with a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional, get_args

from regard.data.doctor import refuse_swapped
from regard.data.line import Pair
from regard.data.parallel import Parallel, PathLike, check_parallel
from regard.errors import UsageError
from regard.judge import Judge, JudgedPredictor, Reads, Translator, Tuned, Weights, tune
from regard.metrics.table import WRITTEN, Writes, metrics_for
from regard.metrics.text import TextMetrics
from regard.predict import Predictor
from regard.processes.cores import cores
from regard.runs.folder import Run
from regard.runs.identity import weights_digest
from regard.runs.load import load_predictor
from regard.runs.test_set import profile_of, read_test_set
from regard.search.base import Search
from regard.search.options import SearchOptions

JUDGED_BEAM = 20
"""Candidates per line, unless another beam is asked for."""

TUNED = "tuned"
OWN = "own"

Say = Callable[[str], None]


@dataclass(frozen=True)
class JudgeRun:
    """A run that judges, as it is asked for: KIND=RUN:WEIGHT."""

    reads: Reads
    path: Path
    weight: Optional[float] = None

    def __str__(self) -> str:
        return f"{self.reads}={self.path}" + ("" if self.weight is None else f":{self.weight:g}")

    def load(self, judged: Run, say: Say) -> Judge:
        run = Run.open(self.path)
        self._check(run, judged)
        if run.config.annotations and self.reads != "pair":
            kinds = " and ".join(kind.description for kind in run.config.annotations)
            raise UsageError(
                f"{self.path} reads {kinds}, which a {self.reads} judge does not receive."
            )
        self._check_direction(run, judged)
        return Judge(self.reads, load_predictor(run, say=say))

    def _check(self, run: Run, judged: Run) -> None:
        """Refuse what reads or writes another kind of line than it would be given."""
        writes: Writes = judged.config.writes if self.reads == "pair" else "text"
        if run.config.writes != writes:
            raise UsageError(
                f"{self.path} writes {WRITTEN[run.config.writes]}, but a {self.reads} judge of "
                f"{judged.path} must write {WRITTEN[writes]}: give another run."
            )
        if self.reads == "pair" and run.config.reads_text != judged.config.reads_text:
            raise UsageError(
                f"{self.path} and {judged.path} read different kinds of source: give another run."
            )
        if self.reads == "channel" and not judged.config.reads_text:
            raise UsageError(
                f"{judged.path} reads no text, which is what a channel judge writes: leave it out."
            )

    def _check_direction(self, run: Run, judged: Run) -> None:
        """Refuse what was trained in the other direction than a judge of this kind needs."""
        if self.reads == "language" or run.config.writes != "text":
            return
        profile, own = profile_of(judged), profile_of(run)
        sides = (own.target, own.source) if self.reads == "channel" else (own.source, own.target)
        if profile.looks_swapped(*sides):
            needed = "in the same direction" if self.reads == "pair" else "back"
            raise UsageError(
                f"{self.path} translates in the wrong direction: a {self.reads} judge of "
                f"{judged.path} must translate {needed}."
            )


@dataclass(frozen=True)
class Asked:
    """Judges and the weights of everything."""

    runs: tuple[JudgeRun, ...]
    own: float = 1.0
    length_penalty: Optional[float] = None  # None: that of the search
    beam: int = JUDGED_BEAM

    @staticmethod
    def of(run: Run, judges: Sequence[str]) -> Asked:
        """From KIND=RUN:WEIGHT and own=WEIGHT, or `tuned` for what is kept with the run."""
        if TUNED in judges:
            if len(judges) > 1:
                raise UsageError(
                    "--judge tuned takes the judges kept with the run: remove the others."
                )
            return _stored(run)
        asked = Asked(())
        for text in judges:
            kind, _, value = text.partition("=")
            if kind == OWN:
                if sum(each.startswith(f"{OWN}=") for each in judges) > 1:
                    raise UsageError(f"--judge {OWN}=WEIGHT is given twice: remove one.")
                asked = replace(asked, own=_number(value, text))
            else:
                asked = replace(asked, runs=(*asked.runs, _judge_run(kind, value, text)))
        if not asked.runs:
            raise UsageError("Give at least one judge, such as --judge channel=RUN:0.5.")
        return asked

    def weights(self, search: Search) -> Weights:
        """The weights of what this search finds; each judge must have one."""
        given = [each.weight for each in self.runs if each.weight is not None]
        if len(given) < len(self.runs):
            missing = next(each for each in self.runs if each.weight is None)
            raise UsageError(
                f"The judge {missing} has no weight: write {missing}:0.5, or find weights with "
                "'regard judge'."
            )
        tuned = self.length_penalty
        penalty = search.length_exponent if tuned is None else tuned
        return Weights(tuple(given), self.own, penalty)

    @property
    def given(self) -> tuple[str, ...]:
        """What to give as options to have these judges and weights."""
        own = () if self.own == 1 else (f"{OWN}={self.own:g}",)
        return (*own, *map(str, self.runs))

    @property
    def signature(self) -> str:
        """What to add to the signature of a score."""
        judges = "+".join(f"{each.reads}*{each.weight:g}" for each in self.runs)
        return f"judges:own*{self.own:g}+{judges}"


def _judge_run(kind: str, value: str, text: str) -> JudgeRun:
    if kind not in get_args(Reads) or not value:
        kinds = ", ".join(f"{each}=RUN:WEIGHT" for each in get_args(Reads))
        raise UsageError(f"'{text}' is not a judge: write {kinds}, own=WEIGHT or tuned.")
    reads: Reads = next(each for each in get_args(Reads) if each == kind)
    before, colon, weight = value.rpartition(":")
    if not colon or Run.exists(Path(value)):
        return JudgeRun(reads, Path(value))
    return JudgeRun(reads, Path(before), _number(weight, text))


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e6:
        raise UsageError(f"The weight in '{where}' is not a number: write one such as 0.5.")
    return number


def judged_search(
    run: Run, search: Optional[Search], judges: Optional[Sequence[str]]
) -> Optional[Search]:
    """The search with all its candidates, if there are judges to choose among them."""
    if not judges:
        return search
    wide = search or run.config.search.changed(beam=Asked.of(run, judges).beam)
    if wide.candidates < 2:
        more = "--best" if wide.draws else "--beam"
        raise UsageError(f"Judges choose among several candidates: give a larger {more}.")
    return wide.all_found()


def asked_search(run: Run, asked: SearchOptions, judges: Optional[Sequence[str]]) -> Search:
    """The search of a run as a person asked for it, wider if judges need it."""
    if judges and asked.beam is None and not asked.sample:
        asked = replace(asked, beam=max(asked.best, Asked.of(run, judges).beam))
    search = asked.search(run.config.search)
    return judged_search(run, search, judges) or search


def with_judges(
    run: Run,
    predictor: Predictor,
    judges: Optional[Sequence[str]],
    say: Say = print,
) -> Translator:
    """The predictor itself, or ranked by judges. Its search must be that of `judged_search`."""
    if not judges:
        return predictor
    asked = Asked.of(run, judges)
    weights = asked.weights(predictor.search)
    return JudgedPredictor(predictor, [each.load(run, say) for each in asked.runs], weights)


def tune_judges(
    run: PathLike,
    judges: Sequence[str],
    data: Optional[Parallel] = None,
    *,
    beam: int = JUDGED_BEAM,
    trials: int = 1000,
    seed: int = 1,
    say: Say = print,
) -> Tuned:
    """Find the weights of judges on pairs that were not trained on, and keep them with the run.

    Without files the validation data of the run is used. The metric is the one that `evaluate`
    reports first for this run.
    """
    check_parallel(data)
    experiment = Run.open(Path(run))
    if not experiment.config.reads_source:
        raise UsageError("A language model has no translations to judge: give another run.")
    if experiment.config.writes in ("tags", "label"):
        raise UsageError(
            "Judges rerank translations, but tags and labels are always the best possible ones: "
            "give another run."
        )
    asked = Asked.of(experiment, judges)
    given = read_test_set(experiment, data, say)
    for each in asked.runs:
        if each.reads == "channel":
            swapped = (Pair(pair.number, pair.target, pair.source) for pair in given.pairs)
            profile = profile_of(Run.open(each.path))
            refuse_swapped(profile, swapped, f"these pairs, read by the channel {each.path},")
    search = judged_search(experiment, experiment.config.search.changed(beam=beam), judges)
    predictor = load_predictor(experiment, search, workers=cores(), say=say)
    none = Weights((0.0,) * len(asked.runs), asked.own, experiment.config.search.length_penalty)
    panel = JudgedPredictor(predictor, [each.load(experiment, say) for each in asked.runs], none)
    config, plain = experiment.config, TextMetrics(bootstrap=0)
    metric = metrics_for(config.writes, plain, given.references, config.metric)[0]
    texts = [line.text for line in given.sources]
    judged = panel.judge(given.sources)
    panel.report_truncated(say)
    found = tune(judged, texts, given.references, metric, none, trials, seed)
    _store(experiment, asked, found, beam, f"{metric.label} [{metric.signature(0)}]")
    return found


def _store(run: Run, asked: Asked, found: Tuned, beam: int, metric: str) -> None:
    """Paths are relative to the run, so that a folder of runs can be moved."""
    kept: list[dict[str, Any]] = [
        {
            "reads": each.reads,
            "run": os.path.relpath(each.path, run.path),
            "weights": weights_digest(Run.open(each.path)),
            "weight": weight,
        }
        for each, weight in zip(asked.runs, found.weights.judges, strict=True)
    ]
    run.save_facts(
        "judges",
        {
            "judges": kept,
            "own": found.weights.own,
            "length_penalty": found.weights.length_penalty,
            "beam": beam,
            "metric": metric,
            "value": found.value,
            "alone": found.alone,
        },
    )


def _stored(run: Run) -> Asked:
    facts = run.facts("judges")
    if not facts:
        raise UsageError(f"{run.path} has no tuned judges: find weights with 'regard judge'.")
    judges = []
    try:
        for each in facts["judges"]:
            path = Path(os.path.normpath(run.path / each["run"]))
            if weights_digest(Run.open(path)) != each["weights"]:
                raise UsageError(f"{path} has changed: find weights again with 'regard judge'.")
            judges.append(JudgeRun(each["reads"], path, float(each["weight"])))
        own, penalty = float(facts["own"]), float(facts["length_penalty"])
        return Asked(tuple(judges), own, penalty, int(facts["beam"]))
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            f"{run.path / 'judges.json'} is corrupt or not written by regard: find weights again "
            "with 'regard judge'."
        ) from None
