"""The verb that examines a corpus: doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.completion import complete_recipe
from regard.cli.options import (
    AlignmentsFiles,
    ColumnNames,
    Open,
    PairsFiles,
    Source,
    SourceLanguage,
    Target,
    TargetTag,
    TestColumns,
    TestPairs,
    TestSource,
    TestTarget,
    TreesFiles,
    ValidColumns,
    ValidPairs,
    ValidSource,
    ValidTarget,
    check_page,
    columns_of,
    show_page,
)
from regard.errors import UsageError


def doctor(
    source: Source = None,
    target: Target = None,
    pairs: PairsFiles = None,
    trees: TreesFiles = None,
    alignments: AlignmentsFiles = None,
    columns: ColumnNames = None,
    valid_source: ValidSource = None,
    valid_target: ValidTarget = None,
    valid_pairs: ValidPairs = None,
    valid_columns: ValidColumns = None,
    test_source: TestSource = None,
    test_target: TestTarget = None,
    test_pairs: TestPairs = None,
    test_columns: TestColumns = None,
    source_language: SourceLanguage = None,
    target_language: TargetTag = None,
    recipe: Annotated[
        Optional[str],
        typer.Option(
            metavar="RECIPE",
            help="Check the lines for this recipe, and forecast memory and time of training it.",
            autocompletion=complete_recipe,
        ),
    ] = None,
    clean: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FOLDER", help="Write a copy without the damaged pairs, and a list of them."
        ),
    ] = None,
    output: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE", help="Write an HTML page with figures and examples."),
    ] = None,
    output_json: Annotated[
        Optional[Path], typer.Option("--json", metavar="FILE", help="Write the report as JSON.")
    ] = None,
    open: Open = False,
) -> None:
    """Find what is wrong with a corpus, and write a cleaned copy.

    Exits with 2 if training would refuse the files; warnings do not change the exit code.
    """
    from regard.data.parallel import Parallel
    from regard.diagnosis.doctor import doctor as examine
    from regard.diagnosis.page import save_page
    from regard.files import write_json

    if open and output is None:
        raise UsageError("--open has no effect without --output; remove it or name the page.")
    check_page(output)
    languages = (source_language, target_language)
    of_valid = columns_of(valid_pairs, valid_columns, columns)
    of_test = columns_of(test_pairs, test_columns, columns)
    report = examine(
        Parallel(source, target, pairs, trees, columns, None, languages, alignments),
        valid=Parallel(valid_source, valid_target, valid_pairs, None, of_valid),
        test=Parallel(test_source, test_target, test_pairs, None, of_test),
        recipe=recipe,
        clean=clean,
        quiet=False,
    )
    typer.echo(str(report))
    if output_json is not None:
        write_json(output_json, report.to_json())
    if output is not None:
        save_page(report, output)
        show_page(output, open)
    if report.errors:
        raise UsageError(report.errors[0])
