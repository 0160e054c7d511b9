"""The verbs that look inside: look, align and watch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from regard.cli.options import (
    GoldFirst,
    GoldTurned,
    HeadNames,
    MethodName,
    RunFolder,
    TreesFile,
    say,
    writing,
)
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.data.line import Line, Sides
    from regard.data.parallel import Parallel
    from regard.inspection.alignment import AttentionHeads, Method
    from regard.metrics.alignment import Gold
    from regard.metrics.base import Score
    from regard.predict import Predictor
    from regard.runs.folder import Run

MOST_SENTENCES = 50
"""On one page, which must stay light enough to open."""


def look(
    run: RunFolder,
    text: Annotated[Optional[str], typer.Argument(help="A sentence.")] = None,
    target: Annotated[Optional[str], typer.Option(help="Read this target instead.")] = None,
    input: Annotated[Optional[Path], typer.Option(help="A file of sentences instead.")] = None,
    targets: Annotated[Optional[Path], typer.Option(help="With --input: their targets.")] = None,
    trees: TreesFile = None,
    output: Annotated[Path, typer.Option(help="The page to write.")] = Path("look.html"),
    open: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    beam: Annotated[Optional[int], typer.Option(min=1, max=32, help="Hypotheses kept.")] = None,
) -> None:
    """Look inside: attention, alignment and search for a sentence, as one offline HTML page."""
    from regard.data.parallel import Parallel
    from regard.inspection.aligning import run_heads
    from regard.inspection.look import look as look_at
    from regard.inspection.page import save_page
    from regard.runs.folder import Run
    from regard.runs.load import load_predictor

    experiment = Run.open(run)
    beside = Parallel(trees=trees)
    beside.check_read_by(experiment.config.annotations)
    sentences = _sentences(text, target, input, targets, beside)
    search = experiment.config.search
    if beam is not None:
        search = search.changed(beam=beam, best=1)
    predictor = load_predictor(experiment, search, say=say)
    looks = [look_at(predictor, *each) for each in sentences]
    if looks[0].layers.cross:
        heads = run_heads(experiment, predictor, say)
        looks = [replace(each, attention_heads=heads) for each in looks]
    save_page(looks, output, f"regard look: {run.name}, {experiment.config.model.kind}")
    for each in looks:
        typer.echo(each.translation)
    say(f"The page is in {output}: open it in a browser.")
    if open:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


def _sentences(
    text: Optional[str],
    target: Optional[str],
    input: Optional[Path],
    targets: Optional[Path],
    beside: Parallel,
) -> list[tuple[Line, Optional[str]]]:
    """Each sentence with its target, if they were given."""
    from regard.data.corpus import annotate, read_plain

    if (text is None) == (input is None):
        raise UsageError("Give one sentence, or a file of sentences with --input.")
    if (target is not None and text is None) or (targets is not None and input is None):
        raise UsageError("Give --target with a sentence, and --targets with --input.")
    lines = list(read_plain(input)) if input is not None else [text or ""]
    forced: list[Optional[str]] = [target] * len(lines)
    if targets is not None:
        forced = list(read_plain(targets))
    if len(lines) != len(forced):
        raise UsageError(
            f"{input} has {len(lines)} lines and {targets} {len(forced)}: give as many."
        )
    sentences = list(zip(annotate(lines, beside.annotations), forced, strict=True))
    if input is None:
        return sentences
    filled = [each for each in sentences if each[0].text.strip()]
    if not 1 <= len(filled) <= MOST_SENTENCES:
        raise UsageError(
            f"{input} has {len(filled)} sentences: a page shows 1 to {MOST_SENTENCES}."
        )
    return filled


def align(
    run: RunFolder,
    source: Annotated[Path, typer.Option(help="Lines of source text.")],
    target: Annotated[Path, typer.Option(help="Their translations.")],
    trees: TreesFile = None,
    output: Annotated[
        Optional[Path], typer.Option(help="A file instead of standard output.")
    ] = None,
    attention_heads: HeadNames = None,
    method: MethodName = "grow-diag",
    choose: Annotated[
        Optional[Path],
        typer.Option(help="A gold alignment of these lines: keep the best heads in the run."),
    ] = None,
    gold_first: GoldFirst = 0,
    gold_turned: GoldTurned = False,
) -> None:
    """Write which words go together, 0-0 1-2 ..., a line for each pair (Pharaoh format)."""
    from regard.data.parallel import Parallel
    from regard.inspection.aligning import align as align_all
    from regard.inspection.aligning import heads_for, read_gold, read_pairs
    from regard.inspection.alignment import find_method
    from regard.metrics.alignment import pharaoh
    from regard.runs.folder import Run
    from regard.runs.load import load_predictor

    if attention_heads is not None and choose is not None:
        raise UsageError("Give --attention-heads to name them or --choose to find them, not both.")
    chosen_method = find_method(method)
    experiment = Run.open(run)
    data = Parallel(source, target, trees=trees)
    data.check_read_by(experiment.config.annotations)
    pairs = partial(read_pairs, data)
    deque(pairs(), maxlen=0)  # all of it is checked before anything is aligned
    predictor = load_predictor(experiment, say=say)
    if choose is not None:
        gold = read_gold(choose, gold_first, gold_turned)
        used = _choose(experiment, predictor, list(pairs()), chosen_method, gold)
    else:
        used = heads_for(experiment, predictor, attention_heads, say)
    with writing(output) as write:
        for links in align_all(predictor, pairs(), used, chosen_method):
            write(pharaoh(links))


def _choose(
    run: Run, predictor: Predictor, pairs: Sequence[Sides], method: Method, gold: list[Gold]
) -> AttentionHeads:
    from regard.inspection.aligning import choose, save_heads

    chosen = choose(predictor, pairs, method, gold)
    for each in chosen.single[:8]:
        say(f"  {each.heads}\tAER {100 * each.error:.1f}")
    best = chosen.best
    checkpoint = run.checkpoints(say).best()
    save_heads(run, chosen, checkpoint.step if checkpoint else 0)
    say(f"Best together: {best.heads}, AER {100 * best.error:.1f}; kept.")
    return best.heads


def write_alignments(
    run: Run,
    predictor: Predictor,
    pairs: Iterable[Sides],
    named: Optional[str],
    path: Path,
) -> None:
    """Which words go together in each pair, a line each; heads are found before any is read."""
    from regard.inspection.aligning import align as align_all
    from regard.inspection.aligning import heads_for
    from regard.metrics.alignment import pharaoh

    heads = heads_for(run, predictor, named, say)
    with writing(path) as write:
        for links in align_all(predictor, pairs, heads, "grow-diag"):
            write(pharaoh(links))


@dataclass(frozen=True)
class GoldPairs:
    """Given translations and what people say goes together in them."""

    pairs: Sequence[Sides]
    gold: list[Gold]


def read_gold_for(
    data: Parallel,
    path: Path,
    first: int,
    turned: bool,
) -> GoldPairs:
    from regard.inspection.aligning import check_one_per_pair, read_gold, read_pairs

    if data.source is None or data.target is None:
        raise UsageError("A gold alignment needs its lines: give --source and --target with it.")
    gold, pairs = read_gold(path, first, turned), list(read_pairs(data))
    check_one_per_pair(gold, pairs)
    return GoldPairs(pairs, gold)


def alignment_scores(run: Path, known: GoldPairs, named: Optional[str], method: str) -> list[Score]:
    """The error rate of what a run's attention says, with its precision and recall."""
    from regard.inspection.aligning import heads_for, score_alignments
    from regard.inspection.alignment import find_method
    from regard.runs.folder import Run
    from regard.runs.load import load_predictor

    chosen = find_method(method)
    experiment = Run.open(run)
    predictor = load_predictor(experiment, say=say)
    heads = heads_for(experiment, predictor, named, say)
    return score_alignments(predictor, known.pairs, known.gold, heads, chosen)


def watch(
    run: RunFolder,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8765,
    output: Annotated[
        Optional[Path], typer.Option(help="Write one page as it is now instead of serving.")
    ] = None,
    open: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Watch a run while it trains, or afterwards: curves, translations and their attention."""
    from regard.inspection.watching import save_watch_page, serve
    from regard.runs.folder import Run

    experiment = Run.open(run)
    if output is not None:
        save_watch_page(experiment, output)
        say(f"The page is in {output}: open it in a browser.")
        return
    serve(experiment, port, open, say)
