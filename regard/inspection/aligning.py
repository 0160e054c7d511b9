"""Alignments of a whole corpus, and the heads that give the best ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from regard.data.line import Line, Sides
from regard.data.parallel import Parallel
from regard.data.tags import leading_tags
from regard.data.text import read_plain
from regard.data.words import Side
from regard.errors import UsageError
from regard.files import writing
from regard.inspection.alignment import (
    MIN_LINK_WEIGHT,
    MOMENTS,
    AttentionHeads,
    Method,
    Moment,
    between_words,
    every_head,
    find_method,
    links,
)
from regard.messages import counted
from regard.metrics.alignment import (
    Gold,
    Links,
    alignment_scores,
    error_rate,
    parse_gold,
    pharaoh,
)
from regard.metrics.base import Score
from regard.models.base import Model
from regard.nn.captured import Attention
from regard.predict import Predictor
from regard.recipes.config import Config
from regard.runs.folder import Run
from regard.runs.load import load_predictor
from regard.terminal import Count, uncounted

_EMPTY = Line("")

MOST_HEADS = 4
"""Heads whose mean is tried; each more costs a pass over all examples for every other head."""


def align(
    predictor: Predictor,
    pairs: Iterable[Sides],
    heads: AttentionHeads,
    method: Method,
    workers: int = 1,
    count: Count = uncounted,
) -> Iterator[Links]:
    """Links (source word, target word) from 0 of each pair, in order; none where a side is empty.

    Words are separated by spaces; a line is read up to the predictor's length limit.
    """

    def read(attention: Attention, source: Side, target: Side) -> Links:
        weights = between_words(heads.mean(attention.cross), source, target, heads.moment)
        tags = len(leading_tags(" ".join(source.words)))  # which are no words of the line
        return links(weights[:, tags:], method)

    return predictor.attend(pairs, read, frozenset(), workers, count)


@dataclass(frozen=True)
class RankedHeads:
    """Heads with the error by which they were chosen: 0 is best, 1 is worst."""

    heads: AttentionHeads
    error: float


@dataclass(frozen=True)
class ChosenHeads:
    """The heads to use, and all single ones that were tried, best first."""

    best: RankedHeads
    single: tuple[RankedHeads, ...]
    by: str  # "gold" or "agreement"


def choose(
    predictor: Predictor, pairs: Sequence[Sides], method: Method, gold: Optional[Sequence[Gold]]
) -> ChosenHeads:
    """The heads whose mean has the lowest error rate against a gold alignment.

    Without one: those in which the two directions agree most, which source word a target word
    looks at most and which target word looks at a source word most. First the best single head
    in each moment, then one more as long as the mean of all gets better.
    """
    if gold is not None:
        check_one_per_pair(gold, pairs)
    examples = list(predictor.attend(pairs, _by_head, None))
    usable = [(example, i) for i, example in enumerate(examples) if example is not None]
    if not usable:
        raise UsageError("There is nothing to choose heads by: give pairs with text on both sides.")
    if not usable[0][0].names:
        raise UsageError("This model has no attention to the source, so it cannot align words.")
    known = None if gold is None else [gold[i] for _, i in usable]
    return _best([example for example, _ in usable], method, known, moments_of(predictor.model))


def moments_of(model: Model) -> tuple[Moment, ...]:
    """When the target can attend to the source: a model that writes all at once reads no target."""
    return MOMENTS if model.reads_target else ("writing",)


def agreeing_heads(
    attention: Attention, source: Side, target: Side, moments: Sequence[Moment]
) -> AttentionHeads:
    """The heads whose two directions agree most in one sentence; without words, the mean of all."""
    if not attention.cross or min(len(source.words), len(target.words)) < 2:
        return AttentionHeads()
    return _best([_by_head(attention, source, target)], "grow-diag", None, moments).best.heads


def _best(
    examples: Sequence[_Example],
    method: Method,
    gold: Optional[Sequence[Gold]],
    moments: Sequence[Moment],
) -> ChosenHeads:
    names = examples[0].names

    def error(moment: Moment, chosen: Sequence[int]) -> float:
        means = [example.weights[moment][list(chosen)].mean(axis=0) for example in examples]
        if gold is None:
            return _disagreement(means)
        return error_rate([links(mean, method) for mean in means], gold)

    single = sorted(
        ((error(moment, [n]), n, moment) for moment in moments for n in range(len(names))),
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
    return ChosenHeads(
        best=RankedHeads(AttentionHeads(tuple(sorted(names[n] for n in chosen)), moment), lowest),
        single=tuple(RankedHeads(AttentionHeads((names[n],), when), e) for e, n, when in single),
        by="agreement" if gold is None else "gold",
    )


@dataclass(frozen=True)
class _Example:
    """The attention between words of one pair, (heads, target words, source words) per moment."""

    names: tuple[tuple[int, int], ...]
    weights: dict[Moment, NDArray[Any]]


def _by_head(attention: Attention, source: Side, target: Side) -> _Example:
    names = every_head(attention.cross)
    if not names:
        return _Example((), {})
    stack = np.concatenate(attention.cross)
    return _Example(names, {m: between_words(stack, source, target, m) for m in MOMENTS})


def _disagreement(weights: Sequence[NDArray[Any]]) -> float:
    """1 - the share of links that both directions have, over all sentences together."""
    shared = sum(_mutual(each) for each in weights)
    all_links = sum(sum(each.shape) for each in weights)
    return 1 - 2 * shared / all_links if all_links else 1.0


def _mutual(weights: NDArray[Any]) -> int:
    """How many links the intersection of both directions has."""
    if not weights.size:
        return 0
    sources, targets = weights.argmax(axis=1), weights.argmax(axis=0)
    rows = np.arange(len(weights))
    return int(((targets[sources] == rows) & (weights[rows, sources] >= MIN_LINK_WEIGHT)).sum())


EXAMPLES = 200
"""Validation pairs by which heads are chosen where there is no gold alignment."""


def run_heads(run: Run, predictor: Predictor, say: Callable[[str], None]) -> AttentionHeads:
    """The heads chosen for a run; at first use they are chosen by agreement and saved.

    Training further invalidates them, unless they were chosen by a gold alignment.
    """
    checkpoint = run.checkpoints(say).best()
    step = checkpoint.step if checkpoint else 0
    kept = run.facts("heads")
    if kept and (kept.get("by") == "gold" or kept.get("step") == step):
        return AttentionHeads.parse(str(kept.get("heads")))
    if run.origin is not None:
        say(
            f"Aligning words by the mean of all heads, since {run.path} has no data to choose "
            "some by; --choose with a gold alignment finds better ones."
        )
        return AttentionHeads.parse("mean")
    pairs = [pair.lines for pair in run.validation_pairs(EXAMPLES)]
    chosen = choose(predictor, pairs, "grow-diag", None)
    say(
        f"Aligning words by heads {chosen.best.heads}, whose two directions agree most on "
        "the validation data; --choose with a gold alignment finds better ones."
    )
    with suppress(OSError):  # in a read-only folder they are chosen again next time
        save_heads(run, chosen, step)
    return chosen.best.heads


def save_heads(run: Run, chosen: ChosenHeads, step: int) -> None:
    run.save_facts(
        "heads",
        {
            "heads": str(chosen.best.heads),
            "by": chosen.by,
            "error": round(chosen.best.error, 4),
            "step": step,
        },
    )


def heads_for(
    run: Run, predictor: Predictor, named: Optional[str], say: Callable[[str], None]
) -> AttentionHeads:
    """The heads that were named, or else the run's own."""
    check_aligns(run.config)
    return run_heads(run, predictor, say) if named is None else AttentionHeads.parse(named)


def check_aligns(config: Config) -> None:
    """Whether there are words on both sides."""
    if not config.reads_source:
        raise UsageError("A language model reads no source to align: give a run that translates.")
    if config.writes != "text" or not config.reads_text:
        raise UsageError("Only a model that reads and writes text aligns words: give another run.")


def read_pairs(run: Run, data: Parallel) -> Iterator[tuple[Line, Line]]:
    """Every pair, with empty lines for each that cannot be used, so that line numbers stay."""
    pairs, number = run.config.pairs_of(data), 0
    for pair in pairs:
        yield from ((_EMPTY, _EMPTY) for _ in range(number + 1, pair.number))
        yield pair.lines
        number = pair.number
    assert pairs.report is not None
    yield from ((_EMPTY, _EMPTY) for _ in range(number, pairs.report.read))


def check_pairs(run: Run, data: Parallel, say: Callable[[str], None]) -> None:
    """Read everything once and report problems before anything is aligned."""
    check_aligns(run.config)
    data.check_read_by(run.config.annotations)
    data.refuse_weights()
    for note in run.config.pairs_of(data).check().sentences():
        say(note)


@dataclass(frozen=True)
class GoldFile:
    """A file of gold alignments, one line per pair.

    `first` is the index of the first word: 0 or 1. `swapped`: links are target-source.
    """

    path: Path
    first: int = 0
    swapped: bool = False

    def read(self) -> list[Gold]:
        """The alignments; errors name the file and line."""
        gold = []
        for number, line in enumerate(read_plain(self.path), 1):
            try:
                gold.append(parse_gold(line, self.first, self.swapped))
            except UsageError as error:
                raise UsageError(f"{self.path}:{number}: {error}") from None
        return gold


def check_one_per_pair(gold: Sequence[Gold], pairs: Sequence[Sides]) -> None:
    if len(pairs) != len(gold):
        raise UsageError(
            f"The gold file has {counted(len(gold), 'line')} for {counted(len(pairs), 'pair')}: "
            "give one per pair."
        )


def score_alignments(
    predictor: Predictor,
    pairs: Sequence[Sides],
    gold: Sequence[Gold],
    heads: AttentionHeads,
    method: Method,
) -> list[Score]:
    """Alignment error rate, precision and recall of given translations."""
    check_one_per_pair(gold, pairs)
    found = list(align(predictor, pairs, heads, method))
    return alignment_scores(found, gold, f"method:{method}|heads:{heads}")


def score_run(
    path: Path,
    data: Parallel,
    gold: GoldFile,
    named: Optional[str],
    method: str,
    say: Callable[[str], None],
) -> list[Score]:
    """How well the attention of a run aligns given translations, measured against gold
    alignments."""
    by, run = find_method(method), Run.open(path)
    data.check_read_by(run.config.annotations)
    if not data:
        raise UsageError(
            "Gold alignments need their lines: give --source and --target with them, or --pairs."
        )
    known, pairs = gold.read(), list(read_pairs(run, data))
    check_one_per_pair(known, pairs)
    predictor = load_predictor(run, say=say)
    return score_alignments(predictor, pairs, known, heads_for(run, predictor, named, say), by)


def choose_for(
    run: Run,
    predictor: Predictor,
    pairs: Sequence[Sides],
    method: Method,
    gold: Sequence[Gold],
    say: Callable[[str], None],
) -> AttentionHeads:
    """Choose the heads of a run by gold alignments, report the best, and keep them in the run."""
    chosen = choose(predictor, pairs, method, gold)
    for each in chosen.single[:8]:
        say(f"  {each.heads}\tAER {100 * each.error:.1f}")
    checkpoint = run.checkpoints(say).best()
    save_heads(run, chosen, checkpoint.step if checkpoint else 0)
    best = chosen.best
    say(f"Best combination: {best.heads}, AER {100 * best.error:.1f}; saved in the run.")
    return best.heads


def align_for(
    run: Run,
    predictor: Predictor,
    pairs: Iterable[Sides],
    named: Optional[str],
    path: Optional[Path],
    say: Callable[[str], None],
) -> None:
    """Go through the pairs and write their alignments to a file, if one is given."""
    if path is None:
        deque(pairs, maxlen=0)
        return
    heads = heads_for(run, predictor, named, say)  # before any pair is read
    with writing(path) as stream:
        for links in align(predictor, pairs, heads, "grow-diag"):
            stream.write(f"{pharaoh(links)}\n".encode())
