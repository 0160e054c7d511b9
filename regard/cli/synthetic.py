"""The verbs that make training data from a run's translations: distill and augment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.completion import complete_run
from regard.cli.options import (
    BeamWidth,
    Device,
    FromLanguage,
    LengthPenalty,
    Sample,
    SampleSeed,
    Temperature,
    ToLanguage,
    TopK,
    TopP,
    TreesFile,
    Workers,
    say,
)


def distill(
    teacher: Annotated[Path, typer.Argument(metavar="TEACHER", help="Folder of a trained run.")],
    source: Annotated[Path, typer.Option(help="Text to translate, one sentence per line.")],
    output: Annotated[Path, typer.Option(help="File to write the translations to.")],
    target: Annotated[
        Optional[Path], typer.Option(help="Original targets, to score the translations against.")
    ] = None,
    trees: TreesFile = None,
    beam: BeamWidth = None,
    length_penalty: LengthPenalty = None,
    to: ToLanguage = None,
    from_language: FromLanguage = None,
    workers: Workers = None,
    device: Device = None,
) -> None:
    """Translate training data for a student to learn from.

    The same command resumes after an interruption.
    """
    from regard.data.parallel import Parallel
    from regard.runs.distill import distill
    from regard.runs.folder import Run
    from regard.search.options import SearchOptions
    from regard.terminal import counting

    configured = Run.open(teacher).config.search
    search = SearchOptions(beam=beam, length_penalty=length_penalty).search(configured)
    data = Parallel(source, target, trees=trees, languages=(from_language, to))
    with counting("translating") as count:
        found = distill(
            *(teacher, data), output=output, search=search, workers=workers, say=say, count=count
        )
    say(f"Wrote {output}: train a student on it with --source {source} --target {output}.")
    if found is not None:
        typer.echo(f"{found} of the teacher on this text")


def augment(
    reverse: Annotated[
        Path,
        typer.Argument(
            metavar="REVERSE",
            help="Run trained from the target language to the source language.",
            autocompletion=complete_run,
        ),
    ],
    target: Annotated[
        Path, typer.Option(help="Target text to translate back, one sentence per line.")
    ],
    output: Annotated[Path, typer.Option(help="TSV file to write the synthetic pairs to.")],
    tag: Annotated[
        bool, typer.Option(help="Mark each synthetic source with <bt> at its beginning.")
    ] = True,
    beam: BeamWidth = None,
    length_penalty: LengthPenalty = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: SampleSeed = None,
    to: ToLanguage = None,
    from_language: FromLanguage = None,
    workers: Workers = None,
    device: Device = None,
) -> None:
    """Back-translate target text into synthetic pairs.

    The same command resumes after an interruption.
    """
    from regard.runs.augment import augment
    from regard.runs.folder import Run
    from regard.search.options import SearchOptions
    from regard.terminal import counting

    asked = SearchOptions(1, beam, length_penalty, sample, temperature, top_k, top_p, seed)
    search = asked.search(Run.open(reverse).config.search)
    with counting("translating") as count:
        augment(
            *(reverse, target),
            output=output,
            tag=tag,
            search=search,
            languages=(from_language, to),
            workers=workers,
            say=say,
            count=count,
        )
    say(f"Wrote {output}: train on it with --pairs {output}, together with human translations.")
