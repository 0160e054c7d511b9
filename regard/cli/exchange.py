"""The verbs that exchange models with other tools: export and import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional, cast

import typer

from regard.cli.options import Int8, RunFolder, SourceLanguage, TargetLanguage, say
from regard.errors import UsageError


def export(
    run: RunFolder,
    output: Annotated[
        Path, typer.Argument(metavar="DIR", help="What to write: a folder, or FILE.argosmodel.")
    ],
    to: Annotated[
        str, typer.Option(metavar="FORMAT", help="One of ctranslate2, huggingface and argos.")
    ],
    check: Annotated[
        Optional[Path],
        typer.Option(help="Sentences to check it with, instead of the validation data."),
    ] = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    int8: Int8 = False,
) -> None:
    """Write a run for another tool and compare both.

    Sample sentences are translated by the run and by the other tool; the exit code is not 0 if
    they disagree.
    """
    from regard.data.languages import Languages
    from regard.interop.exporting import export
    from regard.interop.fitting import Format

    languages = Languages(source_language, target_language)
    export(run, output, to=cast(Format, to), languages=languages, check=check, int8=int8, say=say)


def import_(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="The only one is huggingface.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of an OPUS-MT model.")],
    run: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the new run.")],
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Make a run of a model of another tool.

    The run translates, is evaluated, looked into, and fine-tuned with train --from.
    """
    from regard.data.languages import Languages
    from regard.interop.importing import import_model

    if form != "huggingface":
        raise UsageError(f"Cannot import from '{form}': the only format is huggingface.")
    languages = Languages(source_language, target_language)
    import_model(folder, run=run, languages=languages, say=say)
