"""The verbs of the command line: each parses, calls one function and prints."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, cast

import typer

from regard.inspection import commands
from regard.problem import Misuse, Problem

if TYPE_CHECKING:
    from regard.metrics.text import Score
    from regard.search.rules import Search

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Train, evaluate and use your own sequence-to-sequence models.",
)

Source = Annotated[Optional[Path], typer.Option(help="Lines of source text, plain or gzip.")]
Target = Annotated[
    Optional[Path], typer.Option(help="Lines of target text; a language model's only file.")
]
PairsFile = Annotated[Optional[Path], typer.Option(help="One TSV file instead: source, target.")]
HeadsFile = Annotated[
    Optional[Path],
    typer.Option(help="For positions in a tree: the head of each source word, 0 for a root."),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained run.")]
BeamWidth = Annotated[Optional[int], typer.Option(min=1, help="Hypotheses kept; 1 is greedy.")]
Workers = Annotated[Optional[int], typer.Option(min=1, help="Processes; all cores if not given.")]
BatchTokens = Annotated[int, typer.Option(min=1, help="Source tokens translated together.")]
Int8 = Annotated[bool, typer.Option("--int8", help="Eight-bit weights: faster, less exact.")]
Shortlist = Annotated[
    int,
    typer.Option(min=0, max=100, help="Target pieces tried for each source piece; 0: all."),
]
Lowercase = Annotated[bool, typer.Option(help="Ignore case in the scores.")]
Tokenize = Annotated[str, typer.Option(help="sacreBLEU's tokenizer for BLEU: 13a, none, ...")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def train(
    recipe: Annotated[
        Optional[str], typer.Argument(help="What to train: 'regard recipes' lists them.")
    ] = None,
    run: Annotated[Optional[Path], typer.Option(help="The folder to keep everything in.")] = None,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    source_heads: HeadsFile = None,
    valid_source: Source = None,
    valid_target: Target = None,
    valid_pairs: PairsFile = None,
    valid_source_heads: HeadsFile = None,
    tokenizer: Annotated[
        Optional[Path], typer.Option(help="Use the tokenizer of this run or SentencePiece model.")
    ] = None,
    steps: Annotated[Optional[int], typer.Option(min=1, help="Budget in updates.")] = None,
    epochs: Annotated[Optional[float], typer.Option(help="Budget in passes over the data.")] = None,
    minutes: Annotated[Optional[float], typer.Option(help="Budget in minutes.")] = None,
    save_every: Annotated[Optional[int], typer.Option(min=1, help="Steps between saves.")] = None,
    seed: Annotated[Optional[int], typer.Option(min=0, help="Another seed, another run.")] = None,
    settings: Annotated[
        Optional[list[str]],
        typer.Option("--set", metavar="PATH=VALUE", help="Change a setting: model.layers=6"),
    ] = None,
    quiet: Annotated[bool, typer.Option(help="Show nothing but errors.")] = False,
) -> None:
    """Train a model on your own files; the same command goes on with a run that was stopped."""
    if run is None:
        raise Misuse("Say where to keep the run: --run FOLDER.")
    from regard import experiment

    experiment.train(
        recipe,
        run=run,
        source=source,
        target=target,
        pairs=pairs,
        source_heads=source_heads,
        valid_source=valid_source,
        valid_target=valid_target,
        valid_pairs=valid_pairs,
        valid_source_heads=valid_source_heads,
        tokenizer=tokenizer,
        steps=steps,
        epochs=epochs,
        minutes=minutes,
        save_every=save_every,
        seed=seed,
        settings=settings or [],
        quiet=quiet,
    )


@app.command()
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
    source_heads: HeadsFile = None,
    alignments: Annotated[
        Optional[Path], typer.Option(help="Write here which words go together, 0-0 1-2 ...")
    ] = None,
    attention_heads: commands.HeadNames = None,
    batch_tokens: BatchTokens = 2048,
    workers: Workers = None,
    int8: Int8 = False,
    shortlist: Shortlist = 0,
) -> None:
    """Translate lines; order and empty lines are kept. A language model goes on from each line."""
    from regard.data.corpus import read_beside, read_plain
    from regard.data.heads import must_fit
    from regard.predict import WINDOW
    from regard.run import Run
    from regard.workers import cores

    experiment = Run.open(run)
    unfit: dict[str, object] = {
        "--shortlist": shortlist,
        "--prefix": prefix,
        "--alignments": alignments,
    }
    _refuse_without_source(experiment.config, unfit)
    if sample:
        search = _sampling(experiment.config.search, best, temperature, top_k, top_p, seed)
    else:
        search = _beam(experiment.config.search, beam, best, length_penalty)
    must_fit(experiment.config.reads_heads, source_heads is not None, "--source-heads")
    lines: Iterable[str] = read_plain(input) if input else read_plain(sys.stdin.buffer)
    heads = None
    if source_heads:  # all of it is checked before anything is translated
        lines = list(lines)
        heads = list(read_beside(source_heads, lines))
    predictor = experiment.predictor(
        search, batch_tokens, workers or cores(), int8, shortlist, say=_say
    )
    prefixes = read_plain(prefix) if prefix else None
    typing = input is None and sys.stdin.isatty()  # each line is answered at once
    lines, again = tee(lines)
    predictions = predictor.predict(lines, prefixes, 1 if typing else WINDOW, heads)
    with _writing(output, flush=typing) as write, _counting(output is not None) as count:

        def told() -> Iterator[tuple[str, str]]:
            """Each line with its translation, once that is written."""
            for number, (prediction, line) in enumerate(zip(predictions, again, strict=False)):
                if best == 1:
                    write(prediction.text)
                else:
                    for choice in prediction.best:
                        write(f"{number}\t{choice.score:.4f}\t{choice.text}")
                count(number + 1)
                yield line, prediction.text

        if alignments is None:
            deque(told(), maxlen=0)
        else:
            commands.write_alignments(experiment, predictor, told(), attention_heads, alignments)
    if predictor.cut:
        _say(f"Only the first {predictor.longest} pieces of {predictor.cut} long lines were read.")


@app.command()
def score(
    run: RunFolder,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    source_heads: HeadsFile = None,
    output: Annotated[
        Optional[Path], typer.Option(help="A file instead of standard output.")
    ] = None,
) -> None:
    """Print log p(target | source) for each pair, or log p(target) by a language model."""
    from regard import evaluation

    scored = evaluation.score(
        run, source=source, target=target, pairs=pairs, source_heads=source_heads, say=_say
    )
    with _writing(output) as write:
        for total, _ in scored:
            write(f"{total:.4f}")
    tokens = sum(count for _, count in scored)
    mean = sum(total for total, _ in scored) / tokens
    _say(f"{len(scored):,} pairs, {tokens:,} tokens, {mean:.4f} a token.")


@app.command()
def evaluate(
    run: RunFolder,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    source_heads: HeadsFile = None,
    beam: BeamWidth = None,
    length_penalty: Annotated[Optional[float], typer.Option(min=0)] = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = "13a",
    output: Annotated[Optional[Path], typer.Option(help="Keep the translations here.")] = None,
    int8: Int8 = False,
    shortlist: Shortlist = 0,
    alignments: Annotated[
        Optional[Path], typer.Option(help="A gold alignment of the pairs: its error rate too.")
    ] = None,
    method: commands.MethodName = "grow-diag",
    attention_heads: commands.HeadNames = None,
    gold_first: commands.GoldFirst = 0,
    gold_turned: commands.GoldTurned = False,
    json: AsJson = False,
) -> None:
    """BLEU, chrF, TER, exact match and perplexity on a test set, each with its signature.

    A language model has its perplexity alone. With a gold alignment the error rate of word
    alignments by attention comes along.
    """
    from dataclasses import asdict

    from regard import evaluation
    from regard.config import check
    from regard.metrics.text import TextMetrics
    from regard.run import Run

    config = Run.open(run).config
    unfit: dict[str, object] = {"--shortlist": shortlist, "--output": output, "--beam": beam}
    _refuse_without_source(config, {**unfit, "--alignments": alignments})
    aligned: list[Score] = []
    if alignments is not None:
        gold = commands.read_gold_for(source, target, alignments, gold_first, gold_turned)
        aligned = commands.alignment_scores(run, gold, attention_heads, method)
    search = _beam(config.search, beam, 1, length_penalty)
    metrics = check(TextMetrics, {"lowercase": lowercase, "tokenize": tokenize})
    result = evaluation.evaluate(
        run,
        source=source,
        target=target,
        pairs=pairs,
        source_heads=source_heads,
        search=search,
        metrics=metrics,
        int8=int8,
        shortlist=shortlist,
        say=_say,
    )
    scores = [*result.scores, *aligned]
    if output is not None:
        with _writing(output) as write:
            for line in result.outputs:
                write(line)
    if json:
        _print_json({"run": str(run), "scores": [asdict(each) for each in scores]})
    else:
        for each in scores:
            typer.echo(str(each))


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN ...", help="Baseline first.")],
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    source_heads: HeadsFile = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = "13a",
    json: AsJson = False,
) -> None:
    """Is a run really better? Paired bootstrap over the same lines."""
    from dataclasses import asdict

    from regard import evaluation
    from regard.config import check
    from regard.metrics.text import TextMetrics

    metrics = check(TextMetrics, {"lowercase": lowercase, "tokenize": tokenize})
    rows = evaluation.compare(
        runs,
        source=source,
        target=target,
        pairs=pairs,
        source_heads=source_heads,
        metrics=metrics,
        say=_say,
    )
    if json:
        _print_json([asdict(row) for row in rows])
        return
    for row in rows:
        chance = "baseline" if row.p_value is None else f"p = {row.p_value:.4f}"
        typer.echo(f"{row.metric}\t{row.value:.2f} ± {row.margin:.2f}\t{chance}\t{row.name}")
    for signature in dict.fromkeys(row.signature for row in rows):
        typer.echo(signature)


@app.command()
def ladder(
    output: Annotated[Path, typer.Option(help="The folder for the runs, the table, the picture.")],
    rungs: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="RUNG",
            help="Recipes in order. NAME=RECIPE:path=value,path=value is a recipe with settings of "
            "its own: narrow=tiny:model.width=64,model.heads=2",
            show_default="from a fixed vector to the Transformer",
        ),
    ] = None,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    valid_source: Source = None,
    valid_target: Target = None,
    valid_pairs: PairsFile = None,
    test_source: Source = None,
    test_target: Target = None,
    test_pairs: PairsFile = None,
    steps: Annotated[Optional[int], typer.Option(min=1, help="Updates of each rung.")] = None,
    epochs: Annotated[Optional[float], typer.Option(help="Passes over the data of each.")] = None,
    minutes: Annotated[Optional[float], typer.Option(help="Minutes of training of each.")] = None,
    seed: Annotated[Optional[int], typer.Option(min=0, help="Another seed for all.")] = None,
    settings: Annotated[
        Optional[list[str]],
        typer.Option("--set", metavar="PATH=VALUE", help="Change a setting of all rungs."),
    ] = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = "13a",
    quiet: Annotated[bool, typer.Option(help="Do not show the training.")] = False,
) -> None:
    """Train recipes one after the other, with one table; the same command goes on if stopped."""
    from regard.config import check
    from regard.ladder.climb import climb
    from regard.metrics.text import TextMetrics

    climb(
        rungs or [],
        output=output,
        source=source,
        target=target,
        pairs=pairs,
        valid_source=valid_source,
        valid_target=valid_target,
        valid_pairs=valid_pairs,
        test_source=test_source,
        test_target=test_target,
        test_pairs=test_pairs,
        steps=steps,
        epochs=epochs,
        minutes=minutes,
        seed=seed,
        settings=settings or [],
        metrics=check(TextMetrics, {"lowercase": lowercase, "tokenize": tokenize}),
        quiet=quiet,
        say=_say,
    )
    _say(f"The table is in {output / 'ladder.md'}, with the picture in {output / 'ladder.html'}.")


@app.command()
def info(run: RunFolder, json: AsJson = False) -> None:
    """What is in a run."""
    from regard.run import Run

    facts = Run.open(run).facts(_say)
    if json:
        _print_json(facts)
        return
    config = facts.pop("config")
    for name, value in facts.items():
        typer.echo(f"{name.replace('_', ' ')}: {value}")
    typer.echo("config:")
    for section, values in config.items():
        typer.echo(f"  {section}: {values}")


@app.command()
def recipes() -> None:
    """List the recipes."""
    from regard.recipes import RECIPES

    for name, recipe in RECIPES.items():
        typer.echo(f"{name:16} {recipe.__doc__}")


@app.command()
def corpus(
    name: Annotated[str, typer.Argument(help="Which corpus: grammar or listops.")],
    output: Annotated[Path, typer.Option(help="The folder to write to.")],
    pairs: Annotated[int, typer.Option(min=1, help="Training pairs.")] = 100_000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Write a corpus that ships with regard: train, valid and test files."""
    from regard.corpora.shelf import write_corpus

    write_corpus(name, output, pairs, seed)
    _say(f"Wrote {pairs:,} training pairs, and valid and test, to {output}.")


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to work.")] = Path("demo"),
) -> None:
    """Train a small translator on the built-in corpus and show what it can do."""
    from regard.demo import run_demo

    run_demo(folder)


commands.add_to(app)


def _refuse_without_source(config: Any, given: dict[str, object]) -> None:
    """Options that mean nothing to a language model."""
    wrong = [name for name, value in given.items() if value]
    if wrong and not config.reads_source:
        raise Misuse(f"This is a language model, which has no use for {wrong[0]}: leave it out.")


def _beam(config: Any, beam: Optional[int], best: int, length_penalty: Optional[float]) -> Search:
    from regard.config import override

    width = beam or max(config.beam, best)
    chosen = [f"beam={width}", f"best={best}", f"scored={str(width > 1).lower()}"]
    if length_penalty is not None:
        chosen.append(f"length_penalty={length_penalty}")
    search: Search = override(config, chosen)
    return search


def _sampling(
    config: Any, best: int, temperature: float, top_k: int, top_p: float, seed: int
) -> Search:
    from regard.config import check
    from regard.search.sample import Sample

    values = {
        "longest_ratio": config.longest_ratio,
        "longest_extra": config.longest_extra,
        "best": best,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    return check(Sample, values)


@contextmanager
def _writing(output: Optional[Path], flush: bool = False) -> Iterator[Callable[[str], None]]:
    """A function that writes a line, to standard output or to a file that appears when whole."""
    from regard.files import writing

    with ExitStack() as stack:
        stream = stack.enter_context(writing(output)) if output else sys.stdout.buffer

        def write(line: str) -> None:
            stream.write((line.replace("\n", " ") + "\n").encode("utf-8", errors="replace"))
            if flush:
                stream.flush()

        yield write
        stream.flush()


@contextmanager
def _counting(wanted: bool) -> Iterator[Callable[[int], None]]:
    """Shows how many lines are done, if a person is looking and the screen is free."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (wanted and console.is_terminal):
        yield lambda lines: None
        return
    with console.status("translating") as status:

        def show(lines: int) -> None:
            if lines % 100 == 0:
                status.update(f"translated {lines:,} lines")

        yield show


def _print_json(value: Any) -> None:
    import json

    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))


def _say(text: str) -> None:
    typer.echo(text, err=True)


UsageError = cast(type[typer.BadParameter], typer.BadParameter.__mro__[2])
"""What the parser raises; typer carries its own copy of click, so the class has no fixed home."""


def main(arguments: Optional[Iterable[str]] = None) -> int:
    """Run a command and give its exit code; what a person can put right is one sentence."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return app(given, prog_name="regard", standalone_mode=False) or 0
    except UsageError as error:
        if not given:
            _say(str(error))  # the help
        else:
            _say(f"regard: {error.format_message().rstrip('.')}: see 'regard --help'.")
        return 2
    except Problem as problem:
        _say(f"regard: {problem}")
        return problem.exit_code
    except (OSError, MemoryError) as error:
        _say(f"regard: {_sentence(error)}")
        return 1
    except RuntimeError as error:
        from regard.training.guard import out_of_memory

        if not out_of_memory(error):
            raise
        _say(f"regard: {_sentence(MemoryError())}")
        return 1


def _sentence(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "Not enough memory: choose a smaller model or smaller batches."
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}."


if __name__ == "__main__":
    sys.exit(main())
