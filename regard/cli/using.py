"""The verbs that use a run: translate, score, evaluate, compare."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from regard.cli.looking import alignment_scores, read_gold_for, write_alignments
from regard.cli.options import (
    AsJson,
    BatchTokens,
    BeamWidth,
    GoldFirst,
    GoldTurned,
    HeadNames,
    Int8,
    Lowercase,
    MethodName,
    PairsFile,
    RunFolder,
    Shortlist,
    Source,
    Target,
    Tokenize,
    TreesFile,
    Workers,
    counting,
    print_json,
    say,
    writing,
)
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.data.line import Line, Sides
    from regard.metrics.base import Score
    from regard.predict import Prediction
    from regard.search.base import Search


def translate(
    run: RunFolder,
    input: Annotated[Optional[Path], typer.Option(help="A file instead of standard input.")] = None,
    output: Annotated[
        Optional[Path], typer.Option(help="A file instead of standard output.")
    ] = None,
    beam: BeamWidth = None,
    best: Annotated[int, typer.Option(min=1, help="Targets a line, with their scores.")] = 1,
    length_penalty: Annotated[Optional[float], typer.Option(min=0)] = None,
    sample: Annotated[bool, typer.Option(help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="With --sample: flatter above 1.")] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="With --sample: only the k best.")] = 0,
    top_p: Annotated[float, typer.Option(help="With --sample: only this much probability.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="With --sample.")] = 1,
    prefix: Annotated[
        Optional[Path], typer.Option(help="Lines that the targets must begin with.")
    ] = None,
    trees: TreesFile = None,
    alignments: Annotated[
        Optional[Path], typer.Option(help="Write here which words go together, 0-0 1-2 ...")
    ] = None,
    attention_heads: HeadNames = None,
    batch_tokens: BatchTokens = 2048,
    workers: Workers = None,
    int8: Int8 = False,
    shortlist: Shortlist = 0,
) -> None:
    """Translate lines; order and empty lines are kept. A language model goes on from each line."""
    from regard.data.corpus import annotate, read_plain
    from regard.data.parallel import Parallel
    from regard.predict import WINDOW
    from regard.processes.cores import cores
    from regard.runs.folder import Run
    from regard.runs.load import load_predictor

    experiment = Run.open(run)
    config = experiment.config
    if not config.reads_source:
        unfit = {"--shortlist": shortlist, "--prefix": prefix, "--alignments": alignments}
        _refuse("with a language model", unfit)
    if alignments is None:
        _refuse("without --alignments", {"--attention-heads": attention_heads})
    if sample:
        searched = {"--beam": beam, "--length-penalty": length_penalty is not None}
        _refuse("with --sample", searched)
        search = _sampling(config.search, best, temperature, top_k, top_p, seed)
    else:
        drawn = {
            "--temperature": temperature != 1.0,
            "--top-k": top_k,
            "--top-p": top_p != 1.0,
            "--seed": seed != 1,
        }
        _refuse("without --sample", drawn)
        search = _beam(config.search, beam, best, length_penalty)
    beside = Parallel(trees=trees)
    beside.check_read_by(config.annotations)
    texts = read_plain(input) if input else read_plain(sys.stdin.buffer)
    lines: Iterable[Line] = annotate(texts, beside.annotations)
    if beside:  # all of it is checked before anything is translated
        lines = list(lines)
    predictor = load_predictor(
        experiment, search, batch_tokens, workers or cores(), int8, shortlist, say=say
    )
    prefixes = read_plain(prefix) if prefix else None
    typing = input is None and sys.stdin.isatty()  # each line is answered at once
    lines, again = tee(lines)
    predictions = predictor.predict(lines, prefixes, 1 if typing else WINDOW)
    with writing(output, flush=typing) as write, counting(output is not None) as count:
        predicted = zip(predictions, again, strict=False)
        written = _write_each(predicted, best, write, count)
        if alignments is None:
            deque(written, maxlen=0)
        else:
            write_alignments(experiment, predictor, written, attention_heads, alignments)
    if predictor.truncated:
        limit = predictor.length_limit
        say(f"Truncated {predictor.truncated} long lines to their first {limit} pieces.")


def _write_each(
    predicted: Iterable[tuple[Prediction, Line]],
    best: int,
    write: Callable[[str], None],
    count: Callable[[int], None],
) -> Iterator[Sides]:
    """Each line with its translation, once that is written."""
    for number, (prediction, line) in enumerate(predicted):
        if best == 1:
            write(prediction.text)
        else:
            for choice in prediction.best:
                write(f"{number}\t{choice.score:.4f}\t{choice.text}")
        count(number + 1)
        yield line, prediction.text


def score(
    run: RunFolder,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    trees: TreesFile = None,
    output: Annotated[
        Optional[Path], typer.Option(help="A file instead of standard output.")
    ] = None,
) -> None:
    """Print log p(target | source) for each pair, or log p(target) by a language model.

    A pair that cannot be used, as one with an empty side, gets an empty line.
    """
    from regard.data.parallel import Parallel
    from regard.runs import evaluate as evaluation

    scored = evaluation.score(run, Parallel(source, target, pairs, trees), say=say)
    with writing(output) as write:
        for total, count in scored:
            write(f"{total:.4f}" if count else "")
    tokens = sum(count for _, count in scored)
    mean = sum(total for total, _ in scored) / tokens
    used = sum(count > 0 for _, count in scored)
    say(f"{used:,} pairs, {tokens:,} tokens, {mean:.4f} per token.")


def evaluate(
    run: RunFolder,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    trees: TreesFile = None,
    beam: BeamWidth = None,
    length_penalty: Annotated[Optional[float], typer.Option(min=0)] = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = "13a",
    output: Annotated[
        Optional[Path], typer.Option(help="Keep the translations here, line by line.")
    ] = None,
    int8: Int8 = False,
    shortlist: Shortlist = 0,
    alignments: Annotated[
        Optional[Path], typer.Option(help="A gold alignment of the pairs: its error rate too.")
    ] = None,
    method: MethodName = "grow-diag",
    attention_heads: HeadNames = None,
    gold_first: GoldFirst = 0,
    gold_turned: GoldTurned = False,
    json: AsJson = False,
) -> None:
    """BLEU, chrF, TER, exact match and perplexity, each with its signature; without files on the
    validation data of the run.

    A language model has its perplexity alone. With a gold alignment the error rate of word
    alignments by attention comes along.
    """
    from dataclasses import asdict

    from regard.config import check
    from regard.data.parallel import Parallel
    from regard.metrics.text import TextMetrics
    from regard.runs import evaluate as evaluation
    from regard.runs.folder import Run

    config = Run.open(run).config
    if not config.reads_source:
        unfit = {
            "--shortlist": shortlist,
            "--output": output,
            "--beam": beam,
            "--length-penalty": length_penalty is not None,
            "--lowercase": lowercase,
            "--tokenize": tokenize != "13a",
            "--alignments": alignments,
        }
        _refuse("with a language model", unfit)
    if alignments is None:
        aligning = {
            "--method": method != "grow-diag",
            "--attention-heads": attention_heads,
            "--gold-first": gold_first,
            "--gold-turned": gold_turned,
        }
        _refuse("without --alignments", aligning)
    metrics = check(TextMetrics, {"lowercase": lowercase, "tokenize": tokenize})
    search = _beam(config.search, beam, 1, length_penalty)
    data = Parallel(source, target, pairs, trees)
    aligned: list[Score] = []
    if alignments is not None:
        data.check_read_by(config.annotations)
        gold = read_gold_for(data, alignments, gold_first, gold_turned)
        aligned = alignment_scores(run, gold, attention_heads, method)
    result = evaluation.evaluate(
        run,
        data,
        search=search,
        metrics=metrics,
        int8=int8,
        shortlist=shortlist,
        say=say,
    )
    scores = [*result.scores, *aligned]
    if output is not None:
        with writing(output) as write:
            for line in result.outputs:
                write(line)
    if json:
        print_json({"run": str(run), "scores": [asdict(each) for each in scores]})
    else:
        for each in scores:
            typer.echo(str(each))


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN ...", help="Baseline first.")],
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    trees: TreesFile = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = "13a",
    json: AsJson = False,
) -> None:
    """Is a run really better? Paired bootstrap over the same lines."""
    from dataclasses import asdict

    from regard.config import check
    from regard.data.parallel import Parallel
    from regard.metrics.text import TextMetrics
    from regard.runs import evaluate as evaluation

    metrics = check(TextMetrics, {"lowercase": lowercase, "tokenize": tokenize})
    data = Parallel(source, target, pairs, trees)
    rows = evaluation.compare(runs, data, metrics=metrics, say=say)
    if json:
        print_json([asdict(row) for row in rows])
        return
    for row in rows:
        chance = "baseline" if row.p_value is None else f"p = {row.p_value:.4f}"
        typer.echo(f"{row.metric}\t{row.value:.2f} ± {row.margin:.2f}\t{chance}\t{row.name}")
    for signature in dict.fromkeys(row.signature for row in rows):
        typer.echo(signature)


def _refuse(case: str, options: Mapping[str, object]) -> None:
    """Options that mean nothing in this case, if they are given."""
    for name, value in options.items():
        if value:
            raise UsageError(f"There is no use for {name} {case}: leave it out.")


def _beam(config: Any, beam: Optional[int], best: int, length_penalty: Optional[float]) -> Search:
    from regard.config import override

    width = beam or max(config.beam, best)
    chosen = [f"beam={width}", f"best={best}"]
    if length_penalty is not None:
        chosen.append(f"length_penalty={length_penalty}")
    search: Search = override(config, chosen)
    return search.quick() if width == 1 else search


def _sampling(
    config: Any, best: int, temperature: float, top_k: int, top_p: float, seed: int
) -> Search:
    from regard.config import check
    from regard.search.sample import Sample

    values = {
        "max_length_ratio": config.max_length_ratio,
        "max_length_extra": config.max_length_extra,
        "best": best,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    return check(Sample, values)
