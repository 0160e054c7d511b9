"""The verb that measures claims: study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.options import (
    Device,
    refuse,
    say,
)
from regard.errors import UsageError


def study(
    names: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="STUDY", help="Studies to run: --list shows them."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all studies.")] = False,
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown",
            help="Print a table of the results in --output, without measuring anything.",
        ),
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Take seconds instead of minutes: shows how a study works, but decides nothing.",
        ),
    ] = False,
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for pages, figures and trained runs.")
    ] = Path("studies"),
    seeds: Annotated[
        int, typer.Option(min=1, max=10, help="Repeat each measurement with this many seeds.")
    ] = 3,
    device: Device = None,
) -> None:
    """Measure a claim about sequence models: number, verdict, figure.

    The same command resumes after an interruption; finished studies are not repeated.
    """
    from regard.studies import NAMES
    from regard.studies.series import Series, find_study, run_studies
    from regard.studies.site import caution
    from regard.studies.table import markdown as table

    refuse("with --list", {"--all": every and listed, "--quick": quick and listed})
    refuse("with --markdown", {"--all": every and markdown, "STUDY": bool(names) and markdown})
    if listed:
        for name in NAMES:
            typer.echo(f"{name:24} {find_study(name).title}")
        return
    numbers = tuple(range(1, seeds + 1))
    if markdown:
        typer.echo(table(Series(output, quick, numbers, say).stored(), output))
        return
    if bool(names) == every:
        raise UsageError("Give the names of studies, or --all; 'regard study --list' shows them.")
    chosen = list(NAMES) if every else list(names or [])
    results = run_studies(chosen, output, quick, numbers, say)
    for name, result in results.items():
        typer.echo(f"{name}: {result.finding}")
    if said := caution(result.facts for result in results.values()):
        say(said)
    say(f"The pages are in {output}: open {output / 'index.html'}.")
