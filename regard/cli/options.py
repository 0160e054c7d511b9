"""What the verbs share: their options, and how they write and speak."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

Source = Annotated[Optional[Path], typer.Option(help="Lines of source text, plain or gzip.")]
Target = Annotated[
    Optional[Path], typer.Option(help="Lines of target text; a language model's only file.")
]
PairsFile = Annotated[Optional[Path], typer.Option(help="One TSV file instead: source, target.")]
TreesFile = Annotated[
    Optional[Path],
    typer.Option(help="For models that read trees: the head of each source word, 0 for a root."),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a trained run.")]
BeamWidth = Annotated[Optional[int], typer.Option(min=1, help="Hypotheses kept; 1 is greedy.")]
Workers = Annotated[Optional[int], typer.Option(min=1, help="Processes; all cores if not given.")]
BatchTokens = Annotated[int, typer.Option(min=1, help="Source tokens translated together.")]
Int8 = Annotated[bool, typer.Option("--int8", help="Eight-bit weights: smaller, less exact.")]
Shortlist = Annotated[
    int,
    typer.Option(min=0, max=100, help="Target pieces tried for each source piece; 0: all."),
]
Lowercase = Annotated[bool, typer.Option(help="Ignore case in the scores.")]
Tokenize = Annotated[str, typer.Option(help="sacreBLEU's tokenizer for BLEU: 13a, none, ...")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
HeadNames = Annotated[
    Optional[str],
    typer.Option(help="layer.head, such as 3.2,4.1, or mean; else the run's own."),
]
MethodName = Annotated[str, typer.Option(help="argmax, intersection or grow-diag.")]
GoldFirst = Annotated[int, typer.Option(min=0, max=1, help="The gold's number of the first word.")]
GoldTurned = Annotated[bool, typer.Option(help="In the gold the target word stands first.")]


@contextmanager
def writing(output: Optional[Path], flush: bool = False) -> Iterator[Callable[[str], None]]:
    """A function that writes a line, to standard output or to a file that appears when whole."""
    from regard import files

    with ExitStack() as stack:
        stream = stack.enter_context(files.writing(output)) if output else sys.stdout.buffer

        def write(line: str) -> None:
            stream.write((line.replace("\n", " ") + "\n").encode("utf-8", errors="replace"))
            if flush:
                stream.flush()

        yield write
        stream.flush()


@contextmanager
def counting(wanted: bool) -> Iterator[Callable[[int], None]]:
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


def print_json(value: Any) -> None:
    import json

    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))


def say(text: str) -> None:
    typer.echo(text, err=True)
