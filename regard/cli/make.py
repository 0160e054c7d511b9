"""The verbs that make and describe runs: train, ladder, average, info, recipes, settings, corpus
and demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.completion import complete_recipe, complete_run
from regard.cli.options import (
    AlignmentsFiles,
    AsJson,
    ColumnNames,
    Device,
    Lowercase,
    PairsFiles,
    RunFolder,
    Settings,
    Source,
    SourceLanguage,
    Target,
    TargetLanguage,
    TestColumns,
    TestPairs,
    TestSource,
    TestTarget,
    Tokenize,
    TreesFiles,
    ValidColumns,
    ValidPairs,
    ValidSource,
    ValidTarget,
    Weights,
    Workers,
    print_json,
    refuse,
    say,
    text_metrics,
)
from regard.cli.tables import print_facts
from regard.errors import RegardError, UsageError
from regard.messages import counted


def train(
    recipe: Annotated[
        Optional[str],
        typer.Argument(
            metavar="RECIPE",
            help="Recipe to train: 'regard recipes' lists them.",
            autocompletion=complete_recipe,
        ),
    ] = None,
    run: Annotated[
        Optional[Path],
        typer.Option(metavar="FOLDER", help="Folder of the run: its weights, settings and curves."),
    ] = None,
    config: Annotated[
        Optional[Path],
        typer.Option(help="TOML file of settings, as printed by 'regard info RUN --config'."),
    ] = None,
    source: Source = None,
    target: Target = None,
    pairs: PairsFiles = None,
    trees: TreesFiles = None,
    alignments: AlignmentsFiles = None,
    columns: ColumnNames = None,
    weights: Weights = None,
    valid_source: ValidSource = None,
    valid_target: ValidTarget = None,
    valid_pairs: ValidPairs = None,
    valid_trees: TreesFiles = None,
    valid_alignments: AlignmentsFiles = None,
    valid_columns: ValidColumns = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    tokenizer: Annotated[
        Optional[Path],
        typer.Option(
            metavar="RUN", help="Use the tokenizer of another run, or a SentencePiece model."
        ),
    ] = None,
    start: Annotated[
        Optional[str],
        typer.Option(
            "--from",
            metavar="RUN[:PART]",
            help="Start from the weights and tokenizer of another run, or from one part of its "
            "model, such as RUN:encoder.",
        ),
    ] = None,
    steps: Annotated[
        Optional[int], typer.Option(min=1, help="Train for this many steps (updates).")
    ] = None,
    epochs: Annotated[
        Optional[float], typer.Option(help="Train for this many epochs; 30 if no budget is given.")
    ] = None,
    minutes: Annotated[
        Optional[float], typer.Option(help="Train for this many minutes, validation included.")
    ] = None,
    more: Annotated[
        bool, typer.Option("--more", help="Train a finished run longer, by the given budget.")
    ] = False,
    save_every: Annotated[
        Optional[int], typer.Option(min=1, help="Steps between checkpoints.")
    ] = None,
    seed: Annotated[Optional[int], typer.Option(min=0, help="Random seed.")] = None,
    settings: Settings = None,
    log: Annotated[
        Optional[str],
        typer.Option(metavar="tensorboard", help="Write the curves for TensorBoard as well."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors.")] = False,
    device: Device = None,
) -> None:
    """Train a model on your own files, or resume its training.

    The same command resumes a run that was stopped; so does --run alone. Without validation files,
    some of the training pairs are held out.
    """
    if run is None:
        raise UsageError("Give a folder for the run: --run FOLDER.")
    from regard.data.parallel import Parallel
    from regard.runs import train as experiment
    from regard.runs.config_file import read_config

    languages = (source_language, target_language)
    of_valid = valid_columns or (columns if valid_pairs else None)
    valid = (valid_source, valid_target, valid_pairs, valid_trees, of_valid)
    experiment.train(
        recipe if config is None else read_config(config, recipe),
        Parallel(source, target, pairs, trees, columns, weights, languages, alignments),
        run=run,
        valid=Parallel(*valid, languages=languages, alignments=valid_alignments),
        tokenizer=tokenizer,
        start=start,
        steps=steps,
        epochs=epochs,
        minutes=minutes,
        more=more,
        settings=[*_assign("save_every", save_every), *_assign("seed", seed), *(settings or [])],
        log=log,
        quiet=quiet,
    )


def _assign(name: str, value: Optional[int]) -> list[str]:
    """The assignment of a training setting, if its option was given."""
    return [] if value is None else [f"training.{name}={value}"]


def ladder(
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the runs, the table and the figure.")
    ],
    variants: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="VARIANT",
            help="Recipes, in order. NAME=RECIPE:path=value,path=value is a recipe with its own "
            "settings, such as narrow=tiny:model.width=64,model.heads=2.",
            show_default="from a fixed vector to the Transformer",
            autocompletion=complete_recipe,
        ),
    ] = None,
    source: Source = None,
    target: Target = None,
    pairs: PairsFiles = None,
    trees: TreesFiles = None,
    alignments: AlignmentsFiles = None,
    columns: ColumnNames = None,
    weights: Weights = None,
    valid_source: ValidSource = None,
    valid_target: ValidTarget = None,
    valid_pairs: ValidPairs = None,
    valid_trees: TreesFiles = None,
    valid_alignments: AlignmentsFiles = None,
    valid_columns: ValidColumns = None,
    test_source: TestSource = None,
    test_target: TestTarget = None,
    test_pairs: TestPairs = None,
    test_trees: TreesFiles = None,
    test_columns: TestColumns = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    steps: Annotated[
        Optional[int], typer.Option(min=1, help="Steps (updates) per variant.")
    ] = None,
    epochs: Annotated[Optional[float], typer.Option(help="Epochs per variant.")] = None,
    minutes: Annotated[
        Optional[float], typer.Option(help="Minutes of training per variant.")
    ] = None,
    seed: Annotated[Optional[int], typer.Option(min=0, help="Random seed of all variants.")] = None,
    settings: Settings = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = None,
    workers: Workers = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Do not show the progress of training.")
    ] = False,
    device: Device = None,
) -> None:
    """Train several recipes on the same data; compare them.

    The same command resumes after an interruption.
    """
    from regard.data.parallel import Parallel
    from regard.ladders.ladder import Ladder, budget_of, run_ladder
    from regard.ladders.variants import read_variants

    of_valid = valid_columns or (columns if valid_pairs else None)
    valid = (valid_source, valid_target, valid_pairs, valid_trees, of_valid)
    of_test = test_columns or (columns if test_pairs else None)
    languages = (source_language, target_language)
    asked = Ladder(
        read_variants(variants or []),
        output,
        Parallel(source, target, pairs, trees, columns, weights, languages, alignments),
        Parallel(*valid, alignments=valid_alignments),
        Parallel(test_source, test_target, test_pairs, test_trees, of_test),
        budget_of(steps, epochs, minutes),
        (*_assign("seed", seed), *(settings or [])),
        text_metrics(lowercase, tokenize),
        workers,
    )
    results = run_ladder(asked, quiet, say)
    say(f"The table is in {output / 'ladder.md'}; {output / 'ladder.html'} has the figure too.")
    if failed := [result.variant.name for result in results if result.measured is None]:
        raise RegardError(
            f"{len(failed)} of {len(results)} variants failed to train ({', '.join(failed)}): see "
            "the table for the reasons, and run the same command to try again."
        )


def average(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Trained runs.", autocompletion=complete_run),
    ],
    run: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the new run.")],
    last: Annotated[
        Optional[int],
        typer.Option(min=1, help="Average this many of the last checkpoints of each run instead."),
    ] = None,
) -> None:
    """Average the weights of several runs into a new run.

    The runs need the same model and tokenizer, and should have started from the same weights, as
    with train --from.
    """
    from regard.runs.average import average

    made = average(runs, run=run, last=last, say=say)
    say(f"Wrote {made.path}: {made.origin}.")


def info(
    run: RunFolder,
    config: Annotated[
        bool, typer.Option("--config", help="Print the settings as TOML, for train --config.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Show what is in a run: sizes, scores and settings."""
    from regard.runs.config_file import to_toml
    from regard.runs.facts import describe
    from regard.runs.folder import Run

    refuse("with --config", {"--json": json and config})
    experiment = Run.open(run)
    if config:
        typer.echo(to_toml(experiment.config), nl=False)
    elif json:
        print_json(describe(experiment, say))
    else:
        print_facts(describe(experiment, say))


def recipes() -> None:
    """List the recipes that can be trained."""
    from regard.recipes import RECIPES

    for name, recipe in RECIPES.items():
        typer.echo(f"{name:17} {recipe.__doc__}")


def settings(
    recipe: Annotated[
        Optional[str], typer.Argument(metavar="RECIPE", help="Show the values of this recipe.")
    ] = None,
    search: Annotated[
        Optional[str],
        typer.Option(metavar="WORD", help="List only settings that mention this word."),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, as in docs/settings.md.")
    ] = False,
) -> None:
    """List the settings: type, range, default and meaning."""
    from regard.settings import as_markdown, as_text, describe_settings

    show = as_markdown if markdown else as_text
    typer.echo(show(describe_settings(recipe, search)))


def corpus(
    name: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            help="Name of the corpus: grammar, listops, summaries, drawn_words, copy, repeat_copy, "
            "associative_recall, priority_sort, convex_hull, tour or sorting.",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write to.")],
    pairs: Annotated[int, typer.Option(min=1, help="Number of training pairs.")] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    points: Annotated[
        Optional[str],
        typer.Option(
            metavar="N[-M]",
            help="convex_hull, tour, sorting: points per training line, such as 10 or 5-50.",
            show_default="5-10",
        ),
    ] = None,
) -> None:
    """Write a built-in corpus: train, valid and test files."""
    from regard.corpora.points import read_sizes
    from regard.corpora.registry import write_corpus

    write_corpus(name, output, pairs, seed, None if points is None else read_sizes(points))
    say(f"Wrote {counted(pairs, 'training pair')}, and valid and test, to {output}.")


def demo(
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the corpus and the run.")
    ] = Path("demo"),
    device: Device = None,
) -> None:
    """Train a small translator on a built-in corpus and try it out."""
    from regard.demo import run_demo

    run_demo(folder)
