"""The verb that measures claims: study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.options import refuse, say
from regard.errors import UsageError


def study(
    names: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="STUDY", help="Which claims to measure: --list shows them."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Measure all of them.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Seconds instead of minutes: shows how it works, no more."),
    ] = False,
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For pages, figures and what is trained.")
    ] = Path("studies"),
    seeds: Annotated[
        int, typer.Option(min=1, max=10, help="Repeat each measurement with this many seeds.")
    ] = 3,
) -> None:
    """Measure a claim about sequence models: number, verdict, figure.

    The same command resumes where it was stopped; finished studies are not repeated.
    """
    from regard.studies import NAMES
    from regard.studies.series import find_study, run_studies

    refuse("with --list", {"--all": every and listed, "--quick": quick and listed})
    if listed:
        for name in NAMES:
            typer.echo(f"{name:24} {find_study(name).title}")
        return
    if bool(names) == every:
        raise UsageError("Give the names of studies, or --all; 'regard study --list' shows them.")
    chosen = list(NAMES) if every else list(names or [])
    results = run_studies(chosen, output, quick, tuple(range(1, seeds + 1)), say)
    for name, result in zip(chosen, results, strict=True):
        typer.echo(f"{name}: {result.finding}")
    say(f"The pages are in {output}: open {output / 'index.html'}.")
