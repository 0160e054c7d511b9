"""The verbs that look inside a run: look, align and watch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.options import (
    GoldFirst,
    GoldReversed,
    HeadNames,
    MethodName,
    Open,
    Output,
    RunFolder,
    TreesFile,
    refuse_unfit,
    say,
    show_page,
    writing,
)
from regard.errors import UsageError


def look(
    run: RunFolder,
    text: Annotated[Optional[str], typer.Argument(help="A sentence.")] = None,
    target: Annotated[
        Optional[str], typer.Option(help="Force this target instead of searching.")
    ] = None,
    input: Annotated[Optional[Path], typer.Option(help="A file of sentences instead.")] = None,
    targets: Annotated[
        Optional[Path], typer.Option(help="With --input: a file with their targets.")
    ] = None,
    trees: TreesFile = None,
    output: Annotated[Path, typer.Option(help="The page to write.")] = Path("look.html"),
    open: Open = False,
    beam: Annotated[Optional[int], typer.Option(min=1, max=32, help="Beam size.")] = None,
) -> None:
    """Show attention, alignment and search for a sentence as one offline HTML page."""
    from regard.data.parallel import Parallel
    from regard.inspection.page import save_page
    from regard.inspection.sentences import look_at_all, read_sentences
    from regard.runs.folder import Run

    experiment = Run.open(run)
    annotated = Parallel(trees=trees)
    annotated.check_read_by(experiment.config.annotations)
    if (text is None) == (input is None):
        raise UsageError("Give one sentence, or a file of sentences with --input.")
    if (target is not None and text is None) or (targets is not None and input is None):
        raise UsageError("Give --target with a sentence, and --targets with --input.")
    refuse_unfit(experiment.config, {}, {"--beam": beam})
    sentences = read_sentences(text or input, target or targets, annotated.annotations)
    looks = look_at_all(experiment, sentences, beam, say)
    save_page(looks, output, f"regard look: {run.name}, {experiment.config.model.kind}")
    for each in looks:
        typer.echo(each.translation)
    show_page(output, open)


def align(
    run: RunFolder,
    source: Annotated[Path, typer.Option(help="Source text, line by line.")],
    target: Annotated[Path, typer.Option(help="Its translation, line by line.")],
    trees: TreesFile = None,
    output: Output = None,
    attention_heads: HeadNames = None,
    method: MethodName = "grow-diag",
    choose: Annotated[
        Optional[Path],
        typer.Option(help="Gold alignments of these lines: choose the best heads, and keep them."),
    ] = None,
    gold_first: GoldFirst = 0,
    gold_reversed: GoldReversed = False,
) -> None:
    """Write the word alignment of each pair in Pharaoh format: 0-0 1-2 ..."""
    from regard.data.parallel import Parallel
    from regard.inspection.aligning import GoldFile, align, choose_for, heads_for, read_pairs
    from regard.inspection.alignment import find_method
    from regard.metrics.alignment import pharaoh
    from regard.runs.folder import Run
    from regard.runs.load import load_predictor

    if attention_heads is not None and choose is not None:
        raise UsageError("Give --attention-heads to name them or --choose to find them, not both.")
    by = find_method(method)
    experiment = Run.open(run)
    data = Parallel(source, target, trees=trees)
    data.check_read_by(experiment.config.annotations)
    for _ in read_pairs(data):
        pass  # everything is checked before anything is aligned
    predictor = load_predictor(experiment, say=say)
    if choose is not None:
        gold = GoldFile(choose, gold_first, gold_reversed).read()
        heads = choose_for(experiment, predictor, list(read_pairs(data)), by, gold, say)
    else:
        heads = heads_for(experiment, predictor, attention_heads, say)
    with writing(output) as write:
        for links in align(predictor, read_pairs(data), heads, by):
            write(pharaoh(links))


def watch(
    run: RunFolder,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 8765,
    output: Annotated[
        Optional[Path], typer.Option(help="Write the page to this file instead of serving it.")
    ] = None,
    open: Open = False,
) -> None:
    """Watch a run while it trains, or afterwards: curves, translations and their attention."""
    from regard.inspection.watching import save_watch_page, serve
    from regard.runs.folder import Run

    experiment = Run.open(run)
    if output is None:
        serve(experiment, port, open, say)
        return
    save_watch_page(experiment, output)
    show_page(output, open)
