"""Judges: other models that help to choose among the candidates of an n-best list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, Optional, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.data.line import Line, Sides, Text
from regard.errors import UsageError
from regard.messages import counted
from regard.metrics.base import Metric
from regard.predict import (
    EMPTY,
    WINDOW,
    Candidate,
    Prediction,
    Predictor,
    different,
    with_prefixes,
)
from regard.terminal import Count, uncounted

Reads = Literal["channel", "language", "pair"]
"""What a judge reads: the pair reversed, source given target; the target alone; the pair itself."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Judge:
    """A model that scores candidates by its log-probability per token.

    channel: log p(x | y) / |x|, language: log p(y) / |y|, pair: log p(y | x) / |y|. Lengths are
    those of the judge's own pieces, EOS included.
    """

    reads: Reads
    predictor: Predictor

    def __post_init__(self) -> None:
        if self.predictor.model.reads_source != (self.reads != "language"):
            needed = "a language model" if self.reads == "language" else "a model with a source"
            raise UsageError(f"A {self.reads} judge must be {needed}: give another run.")

    def scores(self, pairs: Iterable[tuple[Line, str]]) -> list[float]:
        read: Iterable[Sides]
        match self.reads:
            case "channel":
                read = ((text, line.text) for line, text in pairs)
            case "language":
                read = (("", text) for _, text in pairs)
            case "pair":
                read = pairs
        return [total / max(count, 1) for total, count in self.predictor.score(read)]


@dataclass(frozen=True)
class Weights:
    """How much each judge counts: own log p(y | x) / |y|^length_penalty + sum of weight x score
    (Yee et al. 2019, arXiv 1908.05731)."""

    judges: tuple[float, ...]
    own: float = 1.0
    length_penalty: float = 1.0

    def totals(self, features: Numbers) -> Numbers:
        """Features (..., 2 + judges) of candidates to their scores (...)."""
        logs, lengths, scores = features[..., 0], features[..., 1], features[..., 2:]
        own: Numbers = self.own * logs / lengths**self.length_penalty
        return own + scores @ np.array(self.judges, dtype=float)


@dataclass(frozen=True)
class Judged:
    """The different candidates of one line, with all that is known of each."""

    candidates: tuple[Candidate, ...]
    scores: Numbers  # (candidates, judges)

    @property
    def features(self) -> Numbers:
        """(candidates, 2 + judges): log p, length, and the scores of the judges."""
        own = [(each.log_probability, each.tokens) for each in self.candidates]
        return np.concatenate([np.array(own, dtype=float), self.scores], axis=1)

    def ranked(self, weights: Weights) -> Prediction:
        totals = weights.totals(self.features)
        best = tuple(
            replace(self.candidates[index], score=float(totals[index]))
            for index in np.argsort(-totals, kind="stable")
        )
        return Prediction(best[0].text, best)


class Translator(Protocol):
    """What turns lines into predictions: a Predictor, or one with judges."""

    def predict(
        self,
        lines: Iterable[Text],
        prefixes: Optional[Iterable[str]] = None,
        window_size: int = WINDOW,
        count: Count = uncounted,
    ) -> Iterator[Prediction]: ...

    def report_truncated(self, say: Callable[[str], None]) -> None: ...


class JudgedPredictor:
    """A predictor whose n-best lists are reranked by judges, one model after the other."""

    def __init__(self, predictor: Predictor, judges: Sequence[Judge], weights: Weights) -> None:
        self.predictor = predictor
        self.judges = tuple(judges)
        self.weights = weights

    def predict(
        self,
        lines: Iterable[Text],
        prefixes: Optional[Iterable[str]] = None,
        window_size: int = WINDOW,
        count: Count = uncounted,
    ) -> Iterator[Prediction]:
        """As Predictor.predict; candidates of the same text are one."""
        given, first = with_prefixes(map(Line.of, lines), prefixes), 0
        while window := list(islice(given, window_size)):
            read = [line for line, _ in window]
            begun = [prefix for _, prefix in window if prefix is not None]
            for each in self.judge(read, begun if prefixes is not None else None, count, first):
                yield each.ranked(self.weights)
            first += len(window)

    def judge(
        self,
        lines: list[Line],
        prefixes: Optional[list[str]] = None,
        count: Count = uncounted,
        first: int = 0,
    ) -> list[Judged]:
        """The candidates of each line with the scores of all judges; `first` as in predict.

        An empty line, which is not translated, is not judged.
        """
        predicted = self.predictor.predict(lines, prefixes, len(lines), count, first)
        found = [() if each is EMPTY else different(each.best) for each in predicted]
        pairs = [
            (line, each.text) for line, some in zip(lines, found, strict=True) for each in some
        ]
        shape = len(self.judges), len(pairs)
        scores = np.array([judge.scores(pairs) for judge in self.judges]).reshape(shape).T
        parts = np.split(scores, np.cumsum([len(some) for some in found])[:-1])
        empty = Judged(EMPTY.best, np.zeros((1, len(self.judges))))
        return [
            Judged(some, part) if some else empty for some, part in zip(found, parts, strict=True)
        ]

    def report_truncated(self, say: Callable[[str], None]) -> None:
        """Say how many lines were truncated, and which judges did not read all of some lines."""
        self.predictor.report_truncated(say)
        for reads, predictor in ((each.reads, each.predictor) for each in self.judges):
            if predictor.truncated:  # once for each candidate
                pieces = counted(predictor.length_limit, "piece")
                say(f"The {reads} judge truncated some long lines to {pieces}.")


@dataclass(frozen=True)
class Tuned:
    """The weights that were found, and the metric with them and without any judge."""

    weights: Weights
    metric: str
    value: float
    alone: float


MAX_WEIGHT = 2.0
MAX_LENGTH_PENALTY = 1.5


def tune(
    judged: Sequence[Judged],
    sources: Sequence[str],
    references: Sequence[str],
    metric: Metric,
    start: Weights,
    trials: int,
    seed: int,
) -> Tuned:
    """Random search for the weights with the best metric: half of the trials anywhere, half around
    the best so far. The first is `start` with no judges at all, so that none is worse than that."""
    most_candidates = max(len(each.candidates) for each in judged)
    statistics = _statistics(judged, sources, references, metric, most_candidates)
    features = np.stack([_filled(each.features, most_candidates) for each in judged])
    lines = np.arange(len(judged))
    draws = np.random.default_rng(seed)
    names = len(start.judges)
    most = np.array([MAX_WEIGHT] * names + [MAX_LENGTH_PENALTY])

    def value(point: Numbers) -> float:
        chosen = _weights(point, start).totals(features).argmax(axis=1)  # the first of equals
        return metric.from_statistics(statistics[lines, chosen].sum(axis=0))

    best = np.array([0.0] * names + [start.length_penalty])
    alone = found = value(best)
    for trial in range(trials):
        if trial < trials // 2:
            point = draws.uniform(0, most)
        else:
            point = np.clip(best + draws.normal(0, 0.1, len(most)) * most, 0, most)
        if (tried := value(point)) != found and (tried > found) == metric.higher:
            best, found = point, tried
    return Tuned(_weights(best, start), metric.label, found, alone)


def _weights(point: Numbers, start: Weights) -> Weights:
    *judges, penalty = (round(float(each), 4) for each in point)
    return Weights(tuple(judges), start.own, penalty)


def _filled(features: Numbers, most: int) -> Numbers:
    """As many rows as asked for, by repeating the first: it changes nothing."""
    repeated = np.repeat(features[:1], most - len(features), axis=0)
    return np.concatenate([features, repeated])


def _statistics(
    judged: Sequence[Judged],
    sources: Sequence[str],
    references: Sequence[str],
    metric: Metric,
    most: int,
) -> Numbers:
    """(lines, most, k): the metric's statistics of every candidate, computed once."""
    texts = [[each.text for each in line.candidates] for line in judged]
    filled = [some + some[:1] * (most - len(some)) for some in texts]
    found = metric.statistics(
        [source for source in sources for _ in range(most)],
        [text for some in filled for text in some],
        [reference for reference in references for _ in range(most)],
    )
    return found.reshape(len(judged), most, -1)
