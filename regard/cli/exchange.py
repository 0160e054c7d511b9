"""The verbs that exchange models with other tools: export and import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional, cast

import typer

from regard.cli.options import Int8, RunFolder, SourceLanguage, TargetLanguage, TargetTag, say
from regard.errors import UsageError


def export(
    run: RunFolder,
    output: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to write, or FILE.argosmodel.")
    ],
    to: Annotated[str, typer.Option(metavar="FORMAT", help="ctranslate2, huggingface or argos.")],
    check: Annotated[
        Optional[Path],
        typer.Option(help="File of sentences to compare on, instead of the validation data."),
    ] = None,
    source_language: SourceLanguage = None,
    target_language: TargetTag = None,
    int8: Int8 = False,
) -> None:
    """Convert a run for another tool, and check the result.

    Both translate sample sentences; the exit code is not 0 if they disagree.
    """
    from regard.data.languages import Languages
    from regard.interop.exporting import export
    from regard.interop.fitting import Format

    languages = Languages(source_language, target_language)
    export(run, output, to=cast(Format, to), languages=languages, check=check, int8=int8, say=say)


def import_(
    form: Annotated[
        str, typer.Argument(metavar="FORMAT", help="Always huggingface, the only format.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of an OPUS-MT model.")],
    run: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the new run.")],
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Make a run from an OPUS-MT model.

    It can be used, evaluated and inspected like any other run, and fine-tuned with train --from.
    """
    from regard.data.languages import Languages
    from regard.interop.importing import import_model

    if form != "huggingface":
        raise UsageError(f"Cannot import from '{form}': the only format is huggingface.")
    languages = Languages(source_language, target_language)
    import_model(folder, run=run, languages=languages, say=say)
