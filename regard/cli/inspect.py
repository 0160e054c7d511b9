"""The verbs that look inside a run: look, align and watch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.options import (
    ColumnNames,
    Device,
    FromLanguage,
    GoldFirst,
    GoldReversed,
    HeadNames,
    MethodName,
    Open,
    Output,
    PairsFiles,
    RunFolder,
    Source,
    Target,
    ToLanguage,
    TreesFile,
    TreesFiles,
    Workers,
    check_page,
    refuse,
    refuse_unfit,
    say,
    show_page,
    writing,
)
from regard.errors import UsageError


def look(
    run: RunFolder,
    text: Annotated[
        Optional[str], typer.Argument(metavar="SENTENCE", help="Sentence to look at.")
    ] = None,
    target: Annotated[
        Optional[str], typer.Option(help="Inspect this target instead of searching for one.")
    ] = None,
    input: Annotated[
        Optional[Path], typer.Option(help="File of sentences, instead of SENTENCE.")
    ] = None,
    targets: Annotated[
        Optional[Path], typer.Option(help="With --input: file with the targets to inspect.")
    ] = None,
    trees: TreesFile = None,
    output: Annotated[
        Optional[Path],
        typer.Option(help="Page to write; look.html by default."),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve a page on which the sentence can be edited.")
    ] = False,
    port: Annotated[
        Optional[int],
        typer.Option(
            min=0, max=65535, help="With --serve: port, 8766 by default; 0: any free port."
        ),
    ] = None,
    open: Open = False,
    beam: Annotated[Optional[int], typer.Option(min=1, max=32, help="Beam size.")] = None,
    to: ToLanguage = None,
    from_language: FromLanguage = None,
    device: Device = None,
) -> None:
    """Show attention, alignment and search on one offline page."""
    from regard.inspection.editing import serve_looks
    from regard.inspection.page import save_page
    from regard.inspection.sentences import load_for_looking, look_at_all, sentences_for
    from regard.runs.folder import Run

    experiment = Run.open(run)
    if serve:
        refuse("with --serve", {"--output": output})
    else:
        refuse("without --serve", {"--port": port})
        check_page(output)
    if (text is not None and input is not None) or not (serve or text or input):
        raise UsageError("Give one sentence, or a file of sentences with --input.")
    if (target is not None and text is None) or (targets is not None and input is None):
        raise UsageError("Give --target with a sentence, and --targets with --input.")
    refuse_unfit(experiment.config, {}, {"--beam": beam})
    forced = targets if target is None else target
    sentences = sentences_for(experiment, text or input, forced, trees)
    predictor = load_for_looking(experiment, beam, say, (from_language, to))
    looks = look_at_all(experiment, predictor, sentences, say)
    title = f"regard look: {run.name}, {experiment.config.model.kind}"
    if serve:
        lines = [line for line, _ in sentences]
        serve_looks(predictor, lines, looks, title, 8766 if port is None else port, open, say)
        return
    save_page(looks, output or Path("look.html"), title)
    for each in looks:
        typer.echo(each.translation)
    show_page(output or Path("look.html"), open)


def align(
    run: RunFolder,
    source: Source = None,
    target: Target = None,
    pairs: PairsFiles = None,
    trees: TreesFiles = None,
    columns: ColumnNames = None,
    output: Output = None,
    attention_heads: HeadNames = None,
    method: MethodName = "grow-diag",
    choose: Annotated[
        Optional[Path],
        typer.Option(help="Gold alignments of these pairs: choose the best heads and store them."),
    ] = None,
    gold_first: GoldFirst = 0,
    gold_reversed: GoldReversed = False,
    to: ToLanguage = None,
    from_language: FromLanguage = None,
    workers: Workers = None,
    device: Device = None,
) -> None:
    """Write the word alignment of each pair, in Pharaoh format."""
    from regard.data.parallel import Parallel
    from regard.inspection.aligning import (
        GoldFile,
        align,
        check_pairs,
        choose_for,
        heads_for,
        read_pairs,
    )
    from regard.inspection.alignment import find_method
    from regard.metrics.alignment import pharaoh
    from regard.processes.limit import worker_count
    from regard.runs.folder import Run
    from regard.runs.load import load_predictor
    from regard.terminal import counting

    if attention_heads is not None and choose is not None:
        raise UsageError("Give --attention-heads to name them or --choose to find them, not both.")
    by, processes = find_method(method), worker_count(workers)
    experiment = Run.open(run)
    data = Parallel(source, target, pairs, trees, columns, languages=(from_language, to))
    check_pairs(experiment, data, say)
    predictor = load_predictor(experiment, say=say)
    if choose is not None:
        gold = GoldFile(choose, gold_first, gold_reversed).read()
        heads = choose_for(experiment, predictor, list(read_pairs(experiment, data)), by, gold, say)
    else:
        heads = heads_for(experiment, predictor, attention_heads, say)
    with writing(output) as write, counting("aligning", shown=output is not None) as count:
        for links in align(predictor, read_pairs(experiment, data), heads, by, processes, count):
            write(pharaoh(links))


def watch(
    run: RunFolder,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to serve on; 0: any free port.")
    ] = 8765,
    output: Annotated[
        Optional[Path],
        typer.Option(help="Write the page to this file instead of serving it."),
    ] = None,
    open: Open = False,
) -> None:
    """Watch a run while it trains, or afterwards.

    The page shows the curves, and predictions with their attention.
    """
    from regard.inspection.watching import save_watch_page, serve_watch
    from regard.runs.folder import Run

    experiment = Run.open(run)
    check_page(output)
    if output is None:
        serve_watch(experiment, port, open, say)
        return
    save_watch_page(experiment, output)
    show_page(output, open)
