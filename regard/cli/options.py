"""What the verbs share: options, and how they write output and report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from regard.cli.completion import complete_run, complete_setting
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.metrics.text import TextMetrics
    from regard.recipes.config import Config

Source = Annotated[
    Optional[list[Path]],
    typer.Option(metavar="FILE", help="Source text, one sentence per line; may be repeated."),
]
Target = Annotated[
    Optional[list[Path]],
    typer.Option(
        metavar="FILE",
        help="Target text: line n belongs to line n of the source. Language models need only this.",
    ),
]
PairsFiles = Annotated[
    Optional[list[Path]],
    typer.Option(
        metavar="FILE",
        help="One file with both sides instead: TSV, CSV, JSON lines, Parquet, TMX or XLIFF.",
    ),
]
ValidSource = Annotated[
    Optional[list[Path]], typer.Option(metavar="FILE", help="Source text for validation.")
]
ValidTarget = Annotated[
    Optional[list[Path]], typer.Option(metavar="FILE", help="Target text for validation.")
]
ValidPairs = Annotated[
    Optional[list[Path]], typer.Option(metavar="FILE", help="Pairs for validation, in one file.")
]
TestSource = Annotated[
    Optional[list[Path]], typer.Option(metavar="FILE", help="Source text for testing.")
]
TestTarget = Annotated[
    Optional[list[Path]], typer.Option(metavar="FILE", help="Target text for testing.")
]
TestPairs = Annotated[
    Optional[list[Path]], typer.Option(metavar="FILE", help="Pairs for testing, in one file.")
]
_TREES = typer.Option(
    metavar="FILE",
    help="Dependency trees, for models that read them: the head of each source word, 0 for a root.",
)
TreesFiles = Annotated[Optional[list[Path]], _TREES]
TreesFile = Annotated[Optional[Path], _TREES]


def _columns(option: str) -> Any:
    return typer.Option(
        metavar="SOURCE,TARGET",
        help=f"With {option}: its source and target columns, by name or number, or its keys or "
        "languages, such as en,sv. Two more names are those of columns that hold the languages.",
    )


def _like_columns(option: str) -> Any:
    return typer.Option(metavar="SOURCE,TARGET", help=f"With {option}: like --columns.")


ColumnNames = Annotated[Optional[str], _columns("--pairs")]
ValidColumns = Annotated[Optional[str], _like_columns("--valid-pairs")]
TestColumns = Annotated[Optional[str], _like_columns("--test-pairs")]
SampleColumns = Annotated[Optional[str], _columns("--sample")]
Weights = Annotated[
    Optional[str],
    typer.Option(
        metavar="NUMBERS",
        help="How many times an epoch repeats each training file, such as 1,3.",
    ),
]
RunFolder = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Folder of a trained run.", autocompletion=complete_run),
]
AlignmentsFiles = Annotated[
    Optional[list[Path]],
    typer.Option(
        metavar="FILE",
        help="Word alignments, for non-autoregressive models, as 'regard align' writes them.",
    ),
]
Output = Annotated[
    Optional[Path],
    typer.Option(help="Write to this file instead of standard output."),
]
BeamWidth = Annotated[Optional[int], typer.Option(min=1, help="Beam size; 1 is greedy search.")]
LengthPenalty = Annotated[
    Optional[float], typer.Option(min=0, help="Rank by log p / length^penalty.")
]
Sample = Annotated[bool, typer.Option("--sample", help="Sample instead of searching.")]
Temperature = Annotated[
    Optional[float], typer.Option(help="Sampling temperature; above 1 flattens the distribution.")
]
TopK = Annotated[
    Optional[int], typer.Option(min=0, help="Sample from the k most probable tokens; 0: all.")
]
TopP = Annotated[
    Optional[float], typer.Option(help="Sample from the smallest set with this probability.")
]
SampleSeed = Annotated[Optional[int], typer.Option(min=0, help="Seed for --sample.")]
Workers = Annotated[
    Optional[int],
    typer.Option(min=1, help="Number of worker processes.", show_default="one per core"),
]
BatchTokens = Annotated[int, typer.Option(min=1, help="Source tokens per batch.")]
Int8 = Annotated[
    bool, typer.Option("--int8", help="Eight-bit weights: less memory, slightly less accurate.")
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Inference engine: torch, or ctranslate2, which is faster for plain Transformers.",
    ),
]
Shortlist = Annotated[
    int,
    typer.Option(
        min=0, max=100, help="Number of target pieces to consider per source piece; 0: all."
    ),
]
EnsembleRuns = Annotated[
    Optional[list[Path]],
    typer.Option(
        "--ensemble",
        metavar="RUN",
        help="Average the probabilities with those of this run; may be repeated.",
        autocompletion=complete_run,
    ),
]
ToLanguage = Annotated[
    Optional[str],
    typer.Option("--to", metavar="TAG", help="Target language, for a run of several languages."),
]
FromLanguage = Annotated[
    Optional[str],
    typer.Option(
        metavar="TAG", help="Source language, for a run of several languages that reads it."
    ),
]
Judges = Annotated[
    Optional[list[str]],
    typer.Option(
        "--judge",
        metavar="KIND=RUN:WEIGHT",
        help="Another run that scores the candidates: channel, language or pair. own=WEIGHT "
        "weights the run's own score; tuned takes what 'regard judge' found.",
    ),
]
Settings = Annotated[
    Optional[list[str]],
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a setting, such as model.layers=6; may be repeated.",
        autocompletion=complete_setting,
    ),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Ignore case when scoring.")]
Tokenize = Annotated[
    Optional[str],
    typer.Option(
        help="sacreBLEU tokenizer for BLEU: 13a, none, intl, char, zh, ja-mecab or ko-mecab.",
        show_default="by target language, else 13a",
    ),
]
SourceLanguage = Annotated[
    Optional[str],
    typer.Option(metavar="TAG", help="Source language: a tag such as en or pt-BR."),
]
TargetLanguage = Annotated[
    Optional[str],
    typer.Option(metavar="TAG", help="Target language; it decides how BLEU tokenizes the text."),
]
TargetTag = Annotated[
    Optional[str],
    typer.Option(metavar="TAG", help="Target language: a tag such as de or pt-BR."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
HeadNames = Annotated[
    Optional[str],
    typer.Option(
        metavar="HEADS", help="Attention heads to align by: layer.head, such as 3.2,4.1, or mean."
    ),
]
MethodName = Annotated[
    str, typer.Option(metavar="NAME", help="Alignment method: argmax, intersection or grow-diag.")
]
GoldFirst = Annotated[
    int, typer.Option(min=0, max=1, help="Index of the first word in the gold file: 0 or 1.")
]
GoldReversed = Annotated[
    bool,
    typer.Option(
        "--gold-reversed", help="Links in the gold file are target-source, not source-target."
    ),
]
Device = Annotated[
    Optional[str],
    typer.Option(
        metavar="NAME",
        help="Device to compute on: auto, cpu, cuda or mps.",
        show_default="cpu",
    ),
]
"""`Verb.invoke` runs the verb on this device."""

SearchPrecision = Annotated[
    Optional[str],
    typer.Option(
        metavar="TYPE",
        help="Precision of the large products in search: bfloat16 is faster for large models on "
        "hardware that supports it, and slightly less accurate.",
        show_default="float32",
    ),
]
"""`Verb.invoke` applies this too."""

Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]


def columns_of(
    pairs: Optional[list[Path]], own: Optional[str], of_training: Optional[str]
) -> Optional[str]:
    """The columns of validation or test files: their own, or else those of the training files."""
    return own or (of_training if pairs else None)


def refuse(case: str, options: Mapping[str, object]) -> None:
    """Refuse options that were given but have no effect in this case."""
    for name, value in options.items():
        if value:
            raise UsageError(f"{name} has no effect {case}; remove it.")


def refuse_unfit(
    config: Config, language: Mapping[str, object], one_pass: Mapping[str, object]
) -> None:
    """Refuse options that have no effect with a language model, with a model that writes its tags
    or its label in one pass, or with one that writes indices."""
    from regard.metrics.table import WRITTEN

    case = f"with a model that writes {WRITTEN[config.writes]}"
    if not config.reads_source:
        refuse("with a language model", language)
    if config.writes in ("tags", "label"):
        refuse(case, one_pass)
    if config.writes == "indices":
        refuse(case, _of_text(one_pass))


def refuse_unfit_runs(runs: list[Path], options: Mapping[str, object]) -> None:
    """Refuse options that have no effect with one of several runs."""
    from regard.runs.folder import Run

    for run in runs:
        refuse_unfit(Run.open(run).config, options, options)


def _of_text(options: Mapping[str, object]) -> dict[str, object]:
    """The options that only apply to text."""
    names = ("--lowercase", "--tokenize", "--reference", "--shortlist", "--alignments")
    return {name: value for name, value in options.items() if name in names}


def text_metrics(lowercase: bool, tokenize: Optional[str]) -> TextMetrics:
    from regard.config import check
    from regard.metrics.text import TextMetrics

    return check(TextMetrics, {"lowercase": lowercase, "tokenize": tokenize}, options=True)


@contextmanager
def writing(output: Optional[Path], flush: bool = False) -> Iterator[Callable[[str], None]]:
    """A function that writes a line to standard output, or to a file that appears when complete."""
    from regard import files

    with ExitStack() as stack:
        stream = stack.enter_context(files.writing(output)) if output else sys.stdout.buffer

        def write(line: str) -> None:
            stream.write((line.replace("\n", " ") + "\n").encode("utf-8", errors="replace"))
            if flush:
                stream.flush()

        yield write
        stream.flush()


def check_page(path: Optional[Path]) -> None:
    """Refuse the name of a picture for a page."""
    if path is not None and path.suffix.lower() in (".png", ".svg", ".pdf", ".jpg", ".jpeg"):
        raise UsageError(f"{path} would be an HTML page: give it a name that ends in .html.")


def show_page(path: Path, open_it: bool) -> None:
    """Say where a page is, and open it in the browser if asked."""
    say(f"Wrote {path}: open it in a browser.")
    if open_it:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


def print_json(value: Any) -> None:
    import json

    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))


def say(text: str) -> None:
    typer.echo(text, err=True)
