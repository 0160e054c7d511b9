"""Alignments of a whole corpus, and the heads that give the best ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, repeat, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, Optional, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.data.batch import EOS, Batch, Padded
from regard.data.corpus import read_beside, read_plain
from regard.data.trees import must_fit
from regard.errors import UsageError
from regard.inspection.alignment import (
    MOMENTS,
    AttentionHeads,
    Method,
    Moment,
    between_words,
    every_head,
    links,
)
from regard.inspection.attention import Attention, attention_of
from regard.inspection.source import Source, padded, read_sources
from regard.inspection.words import Side
from regard.metrics.alignment import Gold, Links, alignment_scores, error_rate, parse_gold
from regard.metrics.base import Score
from regard.predict import Predictor
from regard.runs.folder import Run

WINDOW = 2048
"""Pairs read ahead and sorted by length."""

TOKENS = 2048
"""Of both sides, read together."""

MOST_HEADS = 4
"""Heads whose mean is tried; each more costs a pass over all examples for every other head."""

Result = TypeVar("Result")
Read = Callable[[Attention, Side, Side], Result]


class Pair(NamedTuple):
    """A source and its translation; a model that reads trees needs the heads of the source words:
    k for the k-th word, 0 for a root."""

    source: str
    target: str
    heads: Optional[Sequence[int]] = None


def align(
    predictor: Predictor, pairs: Iterable[Pair], heads: AttentionHeads, method: Method
) -> Iterator[Links]:
    """Links (source word, target word) from 0 of each pair, in order; none where a side is empty.

    Words are what stands between spaces; a line is read up to the predictor's longest.
    """

    def read(attention: Attention, source: Side, target: Side) -> Links:
        weights = heads.mean(attention.cross)
        return links(between_words(weights, source, target, heads.moment), method)

    return each_pair(predictor, pairs, read, frozenset())


def each_pair(
    predictor: Predictor, pairs: Iterable[Pair], read: Read[Result], empty: Result
) -> Iterator[Result]:
    """What `read` makes of the attention of each pair, in order; `empty` where a side is."""
    stream, first = iter(pairs), 1
    while window := list(islice(stream, WINDOW)):
        sources = _sources(predictor, window, first)
        targets = _targets(predictor, window)
        first += len(window)
        found = [empty] * len(window)
        for group in _groups(sources, targets):
            batch = Batch(
                padded([sources[i] for i in group]),
                Padded.of([[*targets[i], EOS] for i in group]),
            )
            for i, attention in zip(group, attention_of(predictor.model, batch), strict=True):
                found[i] = read(
                    attention,
                    Side.of(predictor.tokenizers.source, sources[i].ids),
                    Side.of(predictor.tokenizers.target, targets[i]),
                )
        yield from found


def _sources(predictor: Predictor, pairs: Sequence[Pair], first: int) -> list[Source]:
    for pair in pairs:
        must_fit(predictor.reads_heads, pair.heads is not None, "heads")
    heads = [pair.heads or () for pair in pairs] if predictor.reads_heads else None
    sources = read_sources(predictor, [pair.source for pair in pairs], heads, first)
    return [source.cut(predictor.length_limit) for source in sources]


def _targets(predictor: Predictor, pairs: Sequence[Pair]) -> list[list[int]]:
    targets = predictor.tokenizers.target.encode([pair.target.strip() for pair in pairs])
    return [ids[: predictor.length_limit] for ids in targets]


def _groups(sources: list[Source], targets: list[list[int]]) -> Iterator[list[int]]:
    """Pairs of like length that are read together, those with an empty side left out."""
    lengths = [(len(s.ids), len(t)) for s, t in zip(sources, targets, strict=True)]
    full = [i for i, both in enumerate(lengths) if all(both)]
    order = sorted(full, key=lambda i: -sum(lengths[i]))
    start = 0
    while start < len(order):
        count = max(1, TOKENS // (sum(lengths[order[start]]) + 2))
        yield order[start : start + count]
        start += count


@dataclass(frozen=True)
class Choice:
    """Heads, and how far they are from what they were chosen by: 0 is best, 1 is worst."""

    heads: AttentionHeads
    error: float


@dataclass(frozen=True)
class Chosen:
    """The heads to use, and all single ones that were tried, best first."""

    best: Choice
    single: tuple[Choice, ...]
    by: str  # "gold" or "agreement"


def choose(
    predictor: Predictor, pairs: Sequence[Pair], method: Method, gold: Optional[Sequence[Gold]]
) -> Chosen:
    """The heads whose mean has the lowest error rate against a gold alignment.

    Without one: those in which the two directions agree most, which source word a target word
    looks at most and which target word looks at a source word most. First the best single head
    in each moment, then one more as long as the mean of all gets better.
    """
    if gold is not None:
        check_one_per_pair(gold, pairs)
    examples = list(each_pair(predictor, pairs, _by_head, None))
    usable = [(example, i) for i, example in enumerate(examples) if example is not None]
    if not usable:
        raise UsageError("There is nothing to choose heads by: give pairs with text on both sides.")
    names = usable[0][0].names
    if not names:
        raise UsageError("This model has no attention to the source, so it aligns nothing.")
    known = None if gold is None else [gold[i] for _, i in usable]

    def error(moment: Moment, chosen: Sequence[int]) -> float:
        means = [example.weights[moment][list(chosen)].mean(axis=0) for example, _ in usable]
        if known is None:
            return _disagreement(means)
        return error_rate([links(mean, method) for mean in means], known)

    single = sorted(
        ((error(moment, [n]), n, moment) for moment in MOMENTS for n in range(len(names))),
        key=lambda tried: tried[0],
    )
    lowest, first, moment = single[0]
    chosen = [first]
    while len(chosen) < min(MOST_HEADS, len(names)):
        others = [n for n in range(len(names)) if n not in chosen]
        tried = min((error(moment, [*chosen, n]), n) for n in others)
        if tried[0] >= lowest:
            break
        lowest, chosen = tried[0], [*chosen, tried[1]]
    return Chosen(
        best=Choice(AttentionHeads(tuple(sorted(names[n] for n in chosen)), moment), lowest),
        single=tuple(Choice(AttentionHeads((names[n],), when), e) for e, n, when in single),
        by="agreement" if gold is None else "gold",
    )


@dataclass(frozen=True)
class _Example:
    """The attention between words of one pair, (heads, target words, source words) a moment."""

    names: tuple[tuple[int, int], ...]
    weights: dict[Moment, NDArray[Any]]


def _by_head(attention: Attention, source: Side, target: Side) -> Optional[_Example]:
    names = every_head(attention.cross)
    if not names:
        return _Example((), {})
    stack = np.concatenate(attention.cross)
    return _Example(names, {m: between_words(stack, source, target, m) for m in MOMENTS})


def _disagreement(weights: Sequence[NDArray[Any]]) -> float:
    """1 - the share of links that both directions have, over all sentences together."""
    shared = sum(len(links(each, "intersection")) for each in weights)
    all_links = sum(sum(each.shape) for each in weights)
    return 1 - 2 * shared / all_links if all_links else 1.0


EXAMPLES = 200
"""Validation pairs by which heads are chosen where there is no gold alignment."""


def run_heads(run: Run, predictor: Predictor, say: Callable[[str], None]) -> AttentionHeads:
    """The heads that were chosen for a run; at first use they are chosen by agreement and kept.

    Weights trained further have other heads, unless a gold alignment has named them.
    """
    checkpoint = run.checkpoints(say).best()
    step = checkpoint.step if checkpoint else 0
    kept = run.alignment_heads
    if kept is not None and (kept.get("by") == "gold" or kept.get("step") == step):
        return AttentionHeads.parse(str(kept.get("heads")))
    trees = run.validation_heads(EXAMPLES) or repeat(None)
    pairs = list(map(Pair, *run.validation_text(EXAMPLES), trees))
    chosen = choose(predictor, pairs, "grow-diag", None)
    say(
        f"Words are aligned by heads {chosen.best.heads}, in which both directions agree most on "
        "the validation data; --choose with a gold alignment finds better ones."
    )
    with suppress(OSError):  # a folder that cannot be written: they are chosen again next time
        save_heads(run, chosen, step)
    return chosen.best.heads


def save_heads(run: Run, chosen: Chosen, step: int) -> None:
    run.save_alignment_heads(
        {
            "heads": str(chosen.best.heads),
            "by": chosen.by,
            "error": round(chosen.best.error, 4),
            "step": step,
        }
    )


def heads_for(
    run: Run, predictor: Predictor, named: Optional[str], say: Callable[[str], None]
) -> AttentionHeads:
    """Those that were named, else the run's own."""
    return run_heads(run, predictor, say) if named is None else AttentionHeads.parse(named)


def read_pairs(source: Path, target: Path, heads: Optional[Path] = None) -> Iterator[Pair]:
    """Every line with its translation, the empty ones too, so that line numbers stay."""
    trees = repeat(None) if heads is None else read_beside(heads, read_plain(source))
    for number, both in enumerate(zip_longest(read_plain(source), read_plain(target)), 1):
        if None in both:
            ended = source if both[0] is None else target
            raise UsageError(
                f"{ended} ends before line {number}: give as many lines in both files."
            )
        yield Pair(*both, next(trees))
    next(trees, None)  # where a file of heads that goes on is refused


def read_gold(path: Path, first: int = 0, turned: bool = False) -> list[Gold]:
    """The alignments of a file, a line for each pair; what is wrong is said with its line."""
    gold = []
    for number, line in enumerate(read_plain(path), 1):
        try:
            gold.append(parse_gold(line, first, turned))
        except UsageError as error:
            raise UsageError(f"{path}:{number}: {error}") from None
    return gold


def check_one_per_pair(gold: Sequence[Gold], pairs: Sequence[Pair]) -> None:
    if len(pairs) != len(gold):
        raise UsageError(f"The gold has {len(gold)} lines for {len(pairs)} pairs: give one a pair.")


def score_alignments(
    predictor: Predictor,
    pairs: Sequence[Pair],
    gold: Sequence[Gold],
    heads: AttentionHeads,
    method: Method,
) -> list[Score]:
    """Alignment error rate, precision and recall of given translations."""
    check_one_per_pair(gold, pairs)
    found = list(align(predictor, pairs, heads, method))
    return alignment_scores(found, gold, f"method:{method}|heads:{heads}")
