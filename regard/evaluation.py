"""How good a run is: scores with signatures, and whether one run is really better."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from regard.data.corpus import Pairs
from regard.data.doctor import refuse_swapped
from regard.experiment import Files, PathLike
from regard.metrics.text import Comparison, Score, TextMetrics, paired_bootstrap, text_scores
from regard.predict import Predictor
from regard.problem import Misuse
from regard.run import Run
from regard.search.rules import Search
from regard.workers import cores

PLAIN = TextMetrics()


@dataclass(frozen=True)
class Evaluation:
    """The scores of a run on some pairs, and its outputs for them."""

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
    search: Optional[Search] = None,
    metrics: TextMetrics = PLAIN,
    int8: bool = False,
    shortlist: int = 0,
    say: Callable[[str], None] = print,
) -> Evaluation:
    """Translate the source and score the result against the target; perplexity comes along.

    Without files, the run's own validation data is used.
    """
    experiment = Run.open(Path(run))
    sources, references = _text(experiment, Files(source, target, pairs), say)
    predictor = experiment.predictor(
        search, workers=cores(), int8=int8, shortlist=shortlist, say=say
    )
    outputs = predictor(sources)
    _say_cut(predictor, say)
    scored = list(predictor.score(zip(sources, references, strict=True)))
    tokens = sum(count for _, count in scored)
    perplexity = math.exp(min(700.0, -sum(total for total, _ in scored) / tokens))
    signature = f"unit:piece|pieces:{tokens}|pairs:{len(scored)}"
    return Evaluation(
        (*text_scores(outputs, references, metrics), Score("perplexity", perplexity, signature)),
        tuple(outputs),
    )


def compare(
    runs: Sequence[PathLike],
    *,
    source: Optional[PathLike] = None,
    target: Optional[PathLike] = None,
    pairs: Optional[PathLike] = None,
    search: Optional[Search] = None,
    metrics: TextMetrics = PLAIN,
    say: Callable[[str], None] = print,
) -> list[Comparison]:
    """Runs on the same lines, the first being the baseline, by paired bootstrap.

    Without files, the validation data is used, if all runs have the same.
    """
    if len(runs) < 2:
        raise Misuse("Give at least two runs to compare.")
    experiments = [Run.open(Path(run)) for run in runs]
    files = Files(source, target, pairs)
    texts = [_text(each, files, say) for each in experiments]
    if any(text != texts[0] for text in texts):
        raise Misuse("These runs have different validation data: give --source and --target.")
    systems = [
        (str(path), each.predictor(search, workers=cores(), say=say)(texts[0][0]))
        for path, each in zip(runs, experiments, strict=True)
    ]
    return paired_bootstrap(systems, texts[0][1], metrics)


def score(
    run: PathLike,
    *,
    source: Optional[PathLike] = None,
    target: Optional[PathLike] = None,
    pairs: Optional[PathLike] = None,
    say: Callable[[str], None] = print,
) -> list[tuple[float, int]]:
    """log p(target | source) and the number of target tokens, for each usable pair."""
    experiment = Run.open(Path(run))
    sources, references = _text(experiment, Files(source, target, pairs), say)
    predictor = experiment.predictor(say=say)
    scored = list(predictor.score(zip(sources, references, strict=True)))
    _say_cut(predictor, say)
    return scored


def _say_cut(predictor: Predictor, say: Callable[[str], None]) -> None:
    if predictor.cut:
        say(f"Only the first {predictor.longest} pieces of {predictor.cut} long lines were read.")


def _text(run: Run, files: Files, say: Callable[[str], None]) -> tuple[list[str], list[str]]:
    if not files.given():
        return run.validation_text()
    pairs: Pairs = files.open("")
    for note in pairs.check().sentences():
        say(note)
    refuse_swapped(run.profile, pairs, "these files")
    usable = list(pairs)
    return [pair.source for pair in usable], [pair.target for pair in usable]
