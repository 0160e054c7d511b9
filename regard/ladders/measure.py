"""What is measured of a trained run: size, speed, perplexity, and a score by length."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import fmean, median
from typing import Optional

import numpy as np
import torch

from regard.config import override
from regard.data.line import Line, Pair
from regard.data.store import Batches
from regard.data.tokenizers import Tokenizers
from regard.messages import counted
from regard.metrics.base import Metric, Score
from regard.metrics.perplexity import piece_perplexity, word_perplexity
from regard.metrics.table import metrics_for
from regard.metrics.text import TextMetrics
from regard.nn.fast.prepare import prepare_for_search
from regard.predict import BATCH_TOKENS, Predictor
from regard.processes.devices import chosen_device
from regard.runs.folder import Run
from regard.runs.load import load_model
from regard.training.checkpoint import Checkpoint

METHOD = 3
"""Increases when a number changes its meaning, so that everything is measured again."""

BEAM = 5
"""Of the second search; the first is greedy."""

MAX_BUCKETS = 4
BUCKET_MIN_LINES = 20
"""The score of fewer lines is too noisy to report."""

TIMING_MAX_SECONDS = 10.0
TIMING_MIN_BATCHES = 3
TIMING_BATCH = 64
UNLIMITED_TOKENS = 2**31
"""Tokens per batch: whatever the predictor is given becomes one batch."""


@dataclass(frozen=True)
class TestSet:
    """The pairs that all variants are measured on, and a sentence about where they come from."""

    pairs: list[Pair]
    origin: str

    @property
    def sources(self) -> list[Line]:
        return [pair.source for pair in self.pairs]

    @property
    def texts(self) -> list[str]:
        """The sources without their annotations."""
        return [pair.source.text for pair in self.pairs]

    @property
    def references(self) -> list[str]:
        return [pair.target.text for pair in self.pairs]

    def read_by(self, run: Run) -> TestSet:
        """Without the annotations that the run does not read."""
        if any(kind.option is not None for kind in run.config.annotations):
            return self
        plain = [pair._replace(source=Line(pair.source.text)) for pair in self.pairs]
        return TestSet(plain, self.origin)


@dataclass(frozen=True)
class Estimate:
    """A score and half the width of its 95 % confidence interval; a single line has none."""

    value: float
    margin: Optional[float]

    def __str__(self) -> str:
        margin = "" if self.margin is None else f" ± {self.margin:.1f}"
        return f"{self.value:.1f}{margin}"


@dataclass(frozen=True)
class Bucket:
    """The lines whose source has from `shortest` to `longest` words."""

    shortest: int
    longest: int
    lines: int
    score: Estimate

    @property
    def range(self) -> str:
        shortest, longest = self.shortest, self.longest
        return f"{shortest}" if shortest == longest else f"{shortest}–{longest}"


@dataclass(frozen=True)
class Measurement:
    """All numbers of one variant; the fingerprint identifies the weights and the test set."""

    fingerprint: str
    checkpoint: int
    parameters: int
    tokenizer: str
    steps: int
    minutes: Optional[float]  # None if training ended before the first record of the journal
    tokens_per_second: Optional[float]
    perplexity: float
    word_perplexity: Optional[float]  # None if some lines were truncated
    metric: str  # the label of the metric of the scores below
    greedy: Estimate
    beam: Estimate
    by_length: tuple[Bucket, ...]
    signature: str
    speed_single: float  # sentences/s, batches of one
    speed_batched: float


def fingerprint(
    checkpoint: Checkpoint, test_set: TestSet, metrics: TextMetrics, chosen: str
) -> str:
    """Changes whenever the weights, the test set or the way of scoring do."""
    known: list[object] = [
        METHOD,
        checkpoint.manifest,
        [pair.lines for pair in test_set.pairs],
        metrics.model_dump(),
        chosen,
    ]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def measure(
    run: Run,
    test_set: TestSet,
    metrics: TextMetrics,
    say: Callable[[str], None],
    workers: int = 1,
    chosen: Optional[str] = None,
) -> Measurement:
    """Every number of a trained run, on a test set with the annotations that it reads.

    `chosen` is a metric as training.metric names it: by default the run's own.
    """
    chosen = chosen or run.config.metric
    model, checkpoint = load_model(run, say)
    sides, search = run.tokenizers(), run.config.search
    parameters = sum(parameter.numel() for parameter in model.parameters())
    model = prepare_for_search(model.to(chosen_device()))
    greedy, wide = search.quick(), override(search, [f"beam={BEAM}", "best=1"])
    draft, translate, timed = (
        Predictor(
            model, sides, each, tokens, run.config.length_limit, processes, run.config.annotations
        )
        for each, tokens, processes in (
            (greedy, BATCH_TOKENS, workers),
            (wide, BATCH_TOKENS, workers),
            (greedy, UNLIMITED_TOKENS, 1),
        )
    )
    drafts, outputs = draft(test_set.sources), translate(test_set.sources)
    metric = metrics_for(run.config.writes, metrics, test_set.references, chosen)[0]
    best = metric.score(test_set.texts, outputs, test_set.references)
    by_piece, by_word = _perplexities(translate, test_set)
    if translate.truncated:
        say(f"Truncated some long lines to {counted(translate.length_limit, 'piece')}.")
    steps = run.checkpoints(say).steps()[-1]
    speed, minutes = _training_time(run, sides, steps)
    single, batched = _decoding_speeds(timed, test_set)
    return Measurement(
        fingerprint=fingerprint(checkpoint, test_set, metrics, chosen),
        checkpoint=checkpoint.step,
        parameters=parameters,
        tokenizer=_describe(run, sides),
        steps=steps,
        minutes=minutes,
        tokens_per_second=speed,
        perplexity=by_piece,
        word_perplexity=by_word,
        metric=metric.label,
        greedy=_estimate(metric.score(test_set.texts, drafts, test_set.references)),
        beam=_estimate(best),
        by_length=_by_length(metric, outputs, test_set),
        signature=best.signature,
        speed_single=single,
        speed_batched=batched,
    )


def _estimate(score: Score) -> Estimate:
    return Estimate(score.value, score.margin)


def _by_length(metric: Metric, outputs: Sequence[str], test_set: TestSet) -> tuple[Bucket, ...]:
    words = [len(line.split()) for line in test_set.texts]
    buckets = []
    for indices in length_buckets(words):
        sources, written, references = (
            [lines[index] for index in indices]
            for lines in (test_set.texts, outputs, test_set.references)
        )
        score = metric.score(sources, written, references)
        counts = [words[index] for index in indices]
        buckets.append(Bucket(min(counts), max(counts), len(indices), _estimate(score)))
    return tuple(buckets)


def length_buckets(lengths: Sequence[int]) -> list[list[int]]:
    """The indices of all lengths in groups of about equal size, the shortest first.

    Equal lengths stay together. If a group would be too small, there are fewer of them.
    """
    for number in range(MAX_BUCKETS, 1, -1):
        shares = np.arange(1, number + 1) / number
        edges = np.unique(np.quantile(lengths, shares, method="lower"))
        group_of = np.searchsorted(edges, lengths)
        groups = [np.flatnonzero(group_of == group).tolist() for group in range(len(edges))]
        if min(map(len, groups)) >= BUCKET_MIN_LINES:
            return groups
    return [list(range(len(lengths)))]


def _perplexities(predictor: Predictor, test_set: TestSet) -> tuple[float, Optional[float]]:
    """Per piece and per word; only the second compares models with different tokenizers."""
    scored = list(predictor.score(pair.lines for pair in test_set.pairs))
    by_word = None if predictor.truncated else word_perplexity(scored, test_set.references).value
    return piece_perplexity(scored).value, by_word


def _training_time(
    run: Run, sides: Tokenizers, steps: int
) -> tuple[Optional[float], Optional[float]]:
    """Target tokens per second (the median), and the minutes that the updates took.

    The journal holds speeds, so the minutes follow from the mean number of tokens per step.
    """
    records = [record for record in run.journal if record["event"] == "train"]
    speeds = [record["tokens_per_second"] for record in records]
    if not speeds:
        return None, None
    config, store = run.config, run.store("train")
    batches = Batches(store, config.batch, sides, config.training.seed)
    tokens = (len(store.target.values) + len(store)) / batches.epoch_batches()
    seconds = steps * config.training.accumulate * tokens * fmean(1 / speed for speed in speeds)
    return median(speeds), seconds / 60


def _decoding_speeds(predictor: Predictor, test_set: TestSet) -> tuple[float, float]:
    """Sentences per second, one at a time and in batches."""
    with _one_thread():
        single, batched = (
            decoding_speed(predictor, test_set.sources, size) for size in (1, TIMING_BATCH)
        )
    return single, batched


def decoding_speed(
    predictor: Callable[[list[Line]], list[str]], lines: Sequence[Line], size: int
) -> float:
    """Sentences per second from text to text in batches of `size`, after one to warm up."""
    batches = _similar_length_batches(lines, size)
    predictor(batches[0])
    done, began = 0, time.perf_counter()
    for batch in islice(cycle(batches), max(TIMING_MIN_BATCHES, len(batches))):
        predictor(batch)
        done += 1
        if done >= TIMING_MIN_BATCHES and time.perf_counter() - began > TIMING_MAX_SECONDS:
            break
    return done * size / (time.perf_counter() - began)


def _similar_length_batches(lines: Sequence[Line], size: int) -> list[list[Line]]:
    """Full batches, repeating some lines if need be, in an order that favours no length."""
    count = -(-len(lines) // size) * size
    ranked = sorted(islice(cycle(lines), count), key=lambda line: len(line.text))
    batches = [ranked[start : start + size] for start in range(0, count, size)]
    random.Random(1).shuffle(batches)
    return batches


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _describe(run: Run, sides: Tokenizers) -> str:
    sizes = [sides.source.size] if sides.joint else [sides.source.size, sides.target.size]
    return f"{run.config.tokenizer.kind} {' and '.join(f'{size:,}' for size in sizes)}"
