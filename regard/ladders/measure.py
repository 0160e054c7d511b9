"""What is measured of a trained run: size, speed, perplexity, and BLEU by length."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from statistics import fmean, median
from typing import Optional

import numpy as np
import torch

from regard.config import override
from regard.data.store import Batches
from regard.data.tokenizers import Tokenizers
from regard.data.trees import Heads
from regard.metrics.text import Score, TextMetrics, bleu, piece_perplexity, word_perplexity
from regard.nn.fast.prepare import prepare_for_search
from regard.predict import Predictor
from regard.processes.pool import cores
from regard.runs.folder import Run
from regard.training.checkpoint import Checkpoint

METHOD = 2
"""Goes up when a number comes to mean something else, so that all rows are measured anew."""

WIDE = 5
"""The beam of the second BLEU; the first is greedy."""

MOST_BUCKETS = 4
FEWEST_LINES = 20
"""BLEU of fewer lines says nothing."""

LONGEST_TIMING = 10.0
"""Seconds after which a measurement of speed ends."""

FEWEST_BATCHES = 3
TOGETHER = 64
WHOLE = 2**31
"""Tokens a batch, so many that whatever is given is one batch."""


@dataclass(frozen=True)
class Lines:
    """The pairs that all variants are measured on, and a sentence that says what they are.

    The heads of the source words are for those variants that read them.
    """

    sources: list[str]
    references: list[str]
    origin: str
    heads: Optional[list[Heads]] = None

    def seen_by(self, run: Run) -> Lines:
        """Without heads, unless the run reads them."""
        return self if run.config.reads_heads else replace(self, heads=None)


@dataclass(frozen=True)
class Estimate:
    """A score and half the width of its 95 % confidence interval, which one line does not give."""

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
    bleu: Estimate

    @property
    def range(self) -> str:
        few, many = self.shortest, self.longest
        return f"{few}" if few == many else f"{few}–{many}"


@dataclass(frozen=True)
class Row:
    """All numbers of one variant; the fingerprint says of which weights and which lines."""

    fingerprint: str
    checkpoint: int
    parameters: int
    tokenizer: str
    steps: int
    minutes: Optional[float]  # none if training ended before the first record of the journal
    tokens_per_second: Optional[float]
    perplexity: float
    word_perplexity: Optional[float]  # none if some lines were too long to be read whole
    greedy: Estimate
    beam: Estimate
    by_length: tuple[Bucket, ...]
    signature: str
    one_at_a_time: float  # sentences a second
    many_at_a_time: float


def fingerprint(checkpoint: Checkpoint, lines: Lines, metrics: TextMetrics) -> str:
    """Changes whenever the weights, the lines or the way of scoring do."""
    known: list[object] = [
        METHOD,
        checkpoint.manifest,
        lines.sources,
        lines.references,
        metrics.model_dump(),
    ]
    if lines.heads is not None:
        known.append(lines.heads)
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def measure(run: Run, lines: Lines, metrics: TextMetrics, say: Callable[[str], None]) -> Row:
    """Every number of a trained run; the lines have heads if it reads them."""
    model, checkpoint = run.model(say)
    sides, search, trees = run.tokenizers(), run.config.search, run.config.reads_heads
    parameters = sum(parameter.numel() for parameter in model.parameters())
    model = prepare_for_search(model)
    greedy = override(search, ["beam=1", "best=1", "scored=false"])
    wide = override(search, [f"beam={WIDE}", "best=1", "scored=true"])
    draft, translate = (
        Predictor(model, sides, each, workers=cores(), reads_heads=trees) for each in (greedy, wide)
    )
    drafts = draft(lines.sources, lines.heads)
    outputs = translate(lines.sources, lines.heads)
    best = bleu(outputs, lines.references, metrics)
    by_piece, by_word = _perplexities(translate, lines)
    if translate.cut:
        say(f"Only the first {translate.length_limit} pieces of some long lines were read.")
    steps = run.checkpoints(say).steps()[-1]
    speed, minutes = _training_time(run, sides, steps)
    timed = Predictor(model, sides, greedy, WHOLE, reads_heads=trees)
    alone, together = _decoding_speeds(timed, lines)
    return Row(
        fingerprint=fingerprint(checkpoint, lines, metrics),
        checkpoint=checkpoint.step,
        parameters=parameters,
        tokenizer=_describe(run, sides),
        steps=steps,
        minutes=minutes,
        tokens_per_second=speed,
        perplexity=by_piece,
        word_perplexity=by_word,
        greedy=_estimate(bleu(drafts, lines.references, metrics)),
        beam=_estimate(best),
        by_length=_by_length(outputs, lines, metrics),
        signature=best.signature,
        one_at_a_time=alone,
        many_at_a_time=together,
    )


def _estimate(score: Score) -> Estimate:
    return Estimate(score.value, score.margin)


def _by_length(outputs: Sequence[str], lines: Lines, metrics: TextMetrics) -> tuple[Bucket, ...]:
    words = [len(line.split()) for line in lines.sources]
    buckets = []
    for places in length_buckets(words):
        score = bleu(
            [outputs[place] for place in places],
            [lines.references[place] for place in places],
            metrics,
        )
        counts = [words[place] for place in places]
        buckets.append(Bucket(min(counts), max(counts), len(places), _estimate(score)))
    return tuple(buckets)


def length_buckets(lengths: Sequence[int]) -> list[list[int]]:
    """The places of all lengths in groups of about equal size, the shortest first.

    Equal lengths stay together. If a group would be too small, there are fewer of them.
    """
    for number in range(MOST_BUCKETS, 1, -1):
        shares = np.arange(1, number + 1) / number
        edges = np.unique(np.quantile(lengths, shares, method="lower"))
        group_of = np.searchsorted(edges, lengths)
        groups = [np.flatnonzero(group_of == group).tolist() for group in range(len(edges))]
        if min(map(len, groups)) >= FEWEST_LINES:
            return groups
    return [list(range(len(lengths)))]


def _perplexities(predictor: Predictor, lines: Lines) -> tuple[float, Optional[float]]:
    """A piece and a word; only the second compares models with different tokenizers."""
    pairs = zip(lines.sources, lines.references, strict=True)
    scored = list(predictor.score(pairs, lines.heads))
    by_word = None if predictor.cut else word_perplexity(scored, lines.references).value
    return piece_perplexity(scored).value, by_word


def _training_time(
    run: Run, sides: Tokenizers, steps: int
) -> tuple[Optional[float], Optional[float]]:
    """Target tokens a second (the median), and the minutes that the updates took.

    The journal holds speeds, so the minutes follow from the mean number of tokens in a step.
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


def _decoding_speeds(predictor: Predictor, lines: Lines) -> tuple[float, float]:
    """One sentence at a time, and many."""
    heads = None if lines.heads is None else dict(zip(lines.sources, lines.heads, strict=True))

    def translate(batch: list[str]) -> list[str]:
        return predictor(batch, None if heads is None else [heads[line] for line in batch])

    with _one_thread():
        alone, together = (decoding_speed(translate, lines.sources, n) for n in (1, TOGETHER))
    return alone, together


def decoding_speed(
    predictor: Callable[[list[str]], list[str]], lines: Sequence[str], size: int
) -> float:
    """Sentences a second from text to text, `size` lines at a time, after one batch to warm up."""
    batches = _of_like_length(lines, size)
    predictor(batches[0])
    done, began = 0, time.perf_counter()
    for batch in islice(cycle(batches), max(FEWEST_BATCHES, len(batches))):
        predictor(batch)
        done += 1
        if done >= FEWEST_BATCHES and time.perf_counter() - began > LONGEST_TIMING:
            break
    return done * size / (time.perf_counter() - began)


def _of_like_length(lines: Sequence[str], size: int) -> list[list[str]]:
    """Full batches, some lines twice if need be, in an order that favours no length."""
    count = -(-len(lines) // size) * size
    ranked = sorted(islice(cycle(lines), count), key=len)
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
