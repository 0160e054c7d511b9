"""The verbs that use a run: translate, score, evaluate, compare and judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional, cast

import typer

from regard.cli.completion import complete_run
from regard.cli.options import (
    AsJson,
    BatchTokens,
    BeamWidth,
    ColumnNames,
    Device,
    EngineName,
    EnsembleRuns,
    FromLanguage,
    GoldFirst,
    GoldReversed,
    HeadNames,
    Int8,
    Judges,
    LengthPenalty,
    Lowercase,
    MethodName,
    Output,
    PairsFiles,
    RunFolder,
    Sample,
    SampleSeed,
    SearchPrecision,
    Shortlist,
    Source,
    Target,
    Temperature,
    Tokenize,
    ToLanguage,
    TopK,
    TopP,
    TreesFile,
    TreesFiles,
    Workers,
    print_json,
    refuse,
    refuse_unfit,
    refuse_unfit_runs,
    say,
    text_metrics,
    writing,
)
from regard.cli.prompt import standard_input
from regard.errors import UsageError
from regard.messages import counted

if TYPE_CHECKING:
    from regard.data.line import Line, Sides
    from regard.inspection.aligning import GoldFile
    from regard.interop.ray import Using
    from regard.metrics.base import Score
    from regard.predict import Prediction


def translate(
    run: RunFolder,
    input: Annotated[
        Optional[Path],
        typer.Option(
            help="Read this file instead of standard input; with --ray, a folder or pattern of "
            "shards."
        ),
    ] = None,
    output: Annotated[
        Optional[Path],
        typer.Option(
            help="Write to this file instead of standard output; with --ray, to this folder."
        ),
    ] = None,
    beam: BeamWidth = None,
    best: Annotated[
        int, typer.Option(min=1, help="Print an n-best list of this size, with scores.")
    ] = 1,
    length_penalty: LengthPenalty = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: SampleSeed = None,
    prefix: Annotated[
        Optional[Path], typer.Option(help="File with a forced beginning for each target.")
    ] = None,
    trees: TreesFile = None,
    output_alignments: Annotated[
        Optional[Path],
        typer.Option("--alignments", help="Write word alignments (0-0 1-2 ...) to this file."),
    ] = None,
    attention_heads: HeadNames = None,
    judge: Judges = None,
    ensemble: EnsembleRuns = None,
    to: ToLanguage = None,
    from_language: FromLanguage = None,
    batch_tokens: BatchTokens = 2048,
    workers: Workers = None,
    int8: Int8 = False,
    shortlist: Shortlist = 0,
    engine: EngineName = "torch",
    ray: Annotated[
        Optional[str],
        typer.Option(
            metavar="ADDRESS",
            help="Translate shards with the workers of a Ray cluster: HOST:PORT, auto, or local.",
        ),
    ] = None,
    column: Annotated[
        Optional[str], typer.Option(help="With --ray: the text column of Parquet shards.")
    ] = None,
    precision: SearchPrecision = None,
    device: Device = None,
) -> None:
    """Translate lines in order; a language model continues each line.

    Empty lines stay empty. A tagger or classifier prints the tags or the label of each line. Lines
    typed in a terminal are translated one by one.
    """
    from regard.data.corpus import read_lines
    from regard.data.languages import Languages
    from regard.data.parallel import Parallel
    from regard.inspection.aligning import align_for
    from regard.interop.engine import Engine, load_engine
    from regard.interop.ray import Using
    from regard.predict import WINDOW
    from regard.processes.limit import worker_count
    from regard.runs.directions import tags_for
    from regard.runs.folder import Run
    from regard.runs.judging import asked_search, with_judges
    from regard.search.options import SearchOptions
    from regard.terminal import counting

    experiment = Run.open(run)
    of_source = {"--shortlist": shortlist, "--prefix": prefix, "--alignments": output_alignments}
    asked = SearchOptions(best, beam, length_penalty, sample, temperature, top_k, top_p, seed)
    unfit = {**of_source, "--judge": judge, "--ensemble": ensemble}
    refuse_unfit(experiment.config, unfit, unfit | asked.given())
    _check_alignments(output_alignments, attention_heads, ensemble, engine)
    search, data = asked_search(experiment, asked, judge), Parallel(trees=trees)
    alone: dict[str, object] = {"--best": best > 1, "--prefix": prefix, "--trees": trees}
    alone |= {"--judge": judge, "--precision": precision}
    using = search, engine, batch_tokens, int8, shortlist, ensemble or (), (from_language, to)
    if _on_cluster(ray, column, {**alone, "--alignments": output_alignments}):
        _translate_shards(run, input, output, str(ray), column, workers, Using(*using))
        return
    data.check_read_by(experiment.config.annotations)
    typing, stream = standard_input() if input is None else (False, input)
    lines, again = tee(read_lines(stream, data.beside(), experiment.config.annotations))
    chosen = batch_tokens, worker_count(workers), int8, shortlist, ensemble or ()
    tags = tags_for(experiment, Languages(from_language, to), say)
    predictor = load_engine(experiment, cast(Engine, engine), search, *chosen, tags, say)
    translator, prefixes = with_judges(experiment, predictor, judge, say), _prefixes(prefix)
    with writing(output, typing) as write, counting("translating", None, bool(output)) as count:
        predicted = translator.predict(lines, prefixes, 1 if typing else WINDOW, count)
        written = _write_each(zip(predicted, again, strict=False), best, write)
        align_for(experiment, predictor, written, attention_heads, output_alignments, say)
    translator.report_truncated(say)


def _prefixes(file: Optional[Path]) -> Optional[Iterable[str]]:
    from regard.data.text import read_plain

    return read_plain(file) if file else None


def _check_alignments(
    output: Optional[Path], heads: Optional[str], ensemble: Optional[list[Path]], engine: str
) -> None:
    if output is None:
        refuse("without --alignments", {"--attention-heads": heads})
    refuse("with --ensemble", {"--alignments": ensemble and output})
    refuse(f"with --engine {engine}", {"--alignments": engine != "torch" and output})


def _on_cluster(ray: Optional[str], column: Optional[str], alone: Mapping[str, object]) -> bool:
    """Whether shards are translated; options that have no effect in that case are refused."""
    if ray is None:
        refuse("without --ray", {"--column": column})
    else:
        refuse("with --ray", alone)
    return ray is not None


def _translate_shards(
    run: Path,
    shards: Optional[Path],
    output: Optional[Path],
    cluster: str,
    column: Optional[str],
    workers: Optional[int],
    using: Using,
) -> None:
    from regard.interop.ray import translate_shards
    from regard.terminal import counting

    if shards is None or output is None:
        raise UsageError("--ray needs --input, a folder or pattern, and --output, a folder.")
    given = (run, shards, output, cluster, column, workers, using)
    with counting("translating") as count:
        lines = translate_shards(*given, say=say, count=count)
    say(f"{output} has the translations of {counted(lines, 'line')}.")


def _write_each(
    predicted: Iterable[tuple[Prediction, Line]],
    best: int,
    write: Callable[[str], None],
) -> Iterator[Sides]:
    """Write each prediction, then yield its line and translation."""
    for number, (prediction, line) in enumerate(predicted):
        if best == 1:
            write(prediction.text)
        else:
            for each in prediction.best[:best]:
                write(f"{number}\t{each.score:.4f}\t{each.text}")
        yield line, prediction.text


def score(
    run: RunFolder,
    source: Source = None,
    target: Target = None,
    pairs: PairsFiles = None,
    trees: TreesFiles = None,
    columns: ColumnNames = None,
    output: Output = None,
    ensemble: EnsembleRuns = None,
    to: ToLanguage = None,
    from_language: FromLanguage = None,
    workers: Workers = None,
    device: Device = None,
) -> None:
    """Print log p(target | source) of each pair.

    For a language model it is log p(target). A pair that cannot be used, such as one with an empty
    side, gets an empty line.
    """
    from regard.data.parallel import Parallel
    from regard.runs import evaluate as evaluation

    data = Parallel(source, target, pairs, trees, columns, languages=(from_language, to))
    scored = evaluation.score(run, data, workers=workers, ensemble=ensemble or (), say=say)
    with writing(output) as write:
        for total, count in scored:
            write(f"{total:.4f}" if count else "")
    tokens = sum(count for _, count in scored)
    mean = sum(total for total, _ in scored) / tokens
    used = sum(count > 0 for _, count in scored)
    say(f"{counted(used, 'pair')}, {counted(tokens, 'token')}, {mean:.4f} per token.")


def evaluate(
    run: RunFolder,
    source: Source = None,
    target: Target = None,
    pairs: PairsFiles = None,
    trees: TreesFiles = None,
    columns: ColumnNames = None,
    reference: Annotated[
        Optional[list[Path]],
        typer.Option(help="File with another reference for each line; may be repeated."),
    ] = None,
    beam: BeamWidth = None,
    length_penalty: LengthPenalty = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = None,
    output: Annotated[
        Optional[Path], typer.Option(help="Write the translations to this file.")
    ] = None,
    workers: Workers = None,
    int8: Int8 = False,
    shortlist: Shortlist = 0,
    alignments: Annotated[
        Optional[Path], typer.Option(help="Gold alignments: report the alignment error rate.")
    ] = None,
    method: MethodName = "grow-diag",
    attention_heads: HeadNames = None,
    gold_first: GoldFirst = 0,
    gold_reversed: GoldReversed = False,
    judge: Judges = None,
    ensemble: EnsembleRuns = None,
    to: ToLanguage = None,
    from_language: FromLanguage = None,
    json: AsJson = False,
    precision: SearchPrecision = None,
    device: Device = None,
) -> None:
    """Score a test set: BLEU, chrF, TER, exact match, perplexity.

    Without files, the validation data of the run is used. Tags and labels are scored by accuracy
    and F1, a language model by perplexity alone. Every score has its signature. If the pairs have
    columns of languages, each direction is scored too.
    """
    from regard.data.parallel import Parallel
    from regard.inspection.aligning import score_run
    from regard.runs import evaluate as evaluation
    from regard.runs.folder import Run
    from regard.runs.judging import asked_search
    from regard.search.options import SearchOptions

    experiment = Run.open(run)
    asked = SearchOptions(beam=beam, length_penalty=length_penalty)
    text = {"--lowercase": lowercase, "--tokenize": tokenize, "--reference": reference}
    other = {"--judge": judge, "--shortlist": shortlist, "--ensemble": ensemble}
    unfit = {**text, **asked.given(), **other, "--alignments": alignments}
    refuse_unfit(experiment.config, unfit | {"--output": output}, unfit)
    data = Parallel(source, target, pairs, trees, columns, languages=(from_language, to))
    gold = _gold(alignments, gold_first, gold_reversed, method, attention_heads)
    aligned = score_run(run, data, gold, attention_heads, method, say) if gold else []
    found = evaluation.evaluate(
        *(run, data),
        references=reference or (),
        search=asked_search(experiment, asked, judge),
        metrics=text_metrics(lowercase, tokenize),
        workers=workers,
        int8=int8,
        shortlist=shortlist,
        judges=judge or (),
        ensemble=ensemble or (),
        say=say,
    )
    _write_lines(output, found.outputs)
    print_scores(run, [*found.scores, *aligned], json)


def _gold(
    alignments: Optional[Path], first: int, reverse: bool, method: str, heads: Optional[str]
) -> Optional[GoldFile]:
    """The gold alignments, if there are any; without them, options about them are refused."""
    from regard.inspection.aligning import GoldFile

    if alignments is not None:
        return GoldFile(alignments, first, reverse)
    given = {"--method": method != "grow-diag", "--attention-heads": heads}
    refuse("without --alignments", {**given, "--gold-first": first, "--gold-reversed": reverse})
    return None


def _write_lines(output: Optional[Path], lines: Iterable[str]) -> None:
    if output is not None:
        with writing(output) as write:
            for line in lines:
                write(line)


def print_scores(run: Path, scores: list[Score], as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        print_json({"run": str(run), "scores": [asdict(each) for each in scores]})
        return
    for each in scores:
        typer.echo(str(each))


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN", help="Runs, the baseline first.", autocompletion=complete_run
        ),
    ],
    source: Source = None,
    target: Target = None,
    pairs: PairsFiles = None,
    trees: TreesFiles = None,
    columns: ColumnNames = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = None,
    judge: Judges = None,
    ensemble: EnsembleRuns = None,
    to: ToLanguage = None,
    from_language: FromLanguage = None,
    workers: Workers = None,
    json: AsJson = False,
    device: Device = None,
) -> None:
    """Test whether a run is significantly better: paired bootstrap.

    --judge and --ensemble apply to every run but the first, so the same run given twice shows what
    they add. Without files, the validation data of the runs is used.
    """
    from dataclasses import asdict

    from regard.data.parallel import Parallel
    from regard.runs import evaluate as evaluation

    unfit = {"--lowercase": lowercase, "--tokenize": tokenize}
    refuse_unfit_runs(runs, {**unfit, "--judge": judge, "--ensemble": ensemble})
    data = Parallel(source, target, pairs, trees, columns, languages=(from_language, to))
    rows = evaluation.compare(
        *(runs, data),
        metrics=text_metrics(lowercase, tokenize),
        judges=judge or (),
        ensemble=ensemble or (),
        workers=workers,
        say=say,
    )
    if json:
        print_json([asdict(row) for row in rows])
        return
    for row in rows:
        p_value = "baseline" if row.p_value is None else f"p = {row.p_value:.4f}"
        typer.echo(f"{row.metric}\t{row.value:.2f} ± {row.margin:.2f}\t{p_value}\t{row.name}")
    for signature in dict.fromkeys(row.signature for row in rows):
        typer.echo(signature)


def judge(
    run: RunFolder,
    judge: Judges = None,
    tune: Annotated[  # said or not, this is what the verb does
        bool, typer.Option("--tune", help="Find the weights, as without it.", hidden=True)
    ] = True,
    source: Source = None,
    target: Target = None,
    pairs: PairsFiles = None,
    trees: TreesFiles = None,
    columns: ColumnNames = None,
    beam: Annotated[int, typer.Option(min=2, help="Number of candidates per line.")] = 20,
    trials: Annotated[int, typer.Option(min=1, help="Number of weights to try.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    device: Device = None,
) -> None:
    """Find the weights of judges that rerank translations.

    The weights are stored in the run, for --judge tuned. Without files, the validation data of the
    run is used; never use test data here.
    """
    from regard.data.parallel import Parallel
    from regard.runs.folder import Run
    from regard.runs.judging import TUNED, Asked, tune_judges

    data = Parallel(source, target, pairs, trees, columns)
    found = tune_judges(run, judge or [], data, beam=beam, trials=trials, seed=seed, say=say)
    for each in Asked.of(Run.open(run), [TUNED]).given:
        typer.echo(f"--judge {each}")
    typer.echo(f"--length-penalty {found.weights.length_penalty:g}")
    typer.echo(f"{found.metric} {found.value:.2f} with judges, {found.alone:.2f} without")
    say(f"Stored the weights in {run}: use them with --judge tuned.")
