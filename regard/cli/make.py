"""The verbs that make runs, and those that say what can be made: train, ladder, info, recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.options import (
    AsJson,
    Lowercase,
    PairsFile,
    RunFolder,
    Settings,
    Source,
    Target,
    Tokenize,
    TreesFile,
    print_json,
    say,
    text_metrics,
)
from regard.errors import RegardError, UsageError


def train(
    recipe: Annotated[
        Optional[str], typer.Argument(help="What to train: 'regard recipes' lists them.")
    ] = None,
    run: Annotated[
        Optional[Path], typer.Option(help="Folder for everything about this run.")
    ] = None,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    trees: TreesFile = None,
    valid_source: Source = None,
    valid_target: Target = None,
    valid_pairs: PairsFile = None,
    valid_trees: TreesFile = None,
    tokenizer: Annotated[
        Optional[Path],
        typer.Option(help="Use the tokenizer of another run, or a SentencePiece model."),
    ] = None,
    steps: Annotated[
        Optional[int], typer.Option(min=1, help="Train for this many updates.")
    ] = None,
    epochs: Annotated[
        Optional[float], typer.Option(help="Train for this many epochs; 30 if no budget is given.")
    ] = None,
    minutes: Annotated[Optional[float], typer.Option(help="Train for this many minutes.")] = None,
    save_every: Annotated[
        Optional[int], typer.Option(min=1, help="Steps between checkpoints.")
    ] = None,
    seed: Annotated[Optional[int], typer.Option(min=0, help="Random seed.")] = None,
    settings: Settings = None,
    quiet: Annotated[bool, typer.Option(help="Print only errors.")] = False,
) -> None:
    """Train a model on your own files; the same command resumes a run that was stopped."""
    if run is None:
        raise UsageError("Give a folder for the run: --run FOLDER.")
    from regard.data.parallel import Parallel
    from regard.runs import train as experiment

    experiment.train(
        recipe,
        Parallel(source, target, pairs, trees),
        run=run,
        valid=Parallel(valid_source, valid_target, valid_pairs, valid_trees),
        tokenizer=tokenizer,
        steps=steps,
        epochs=epochs,
        minutes=minutes,
        settings=[*_assign("save_every", save_every), *_assign("seed", seed), *(settings or [])],
        quiet=quiet,
    )


def _assign(name: str, value: Optional[int]) -> list[str]:
    """A training setting, if its option was given."""
    return [] if value is None else [f"training.{name}={value}"]


def ladder(
    output: Annotated[Path, typer.Option(help="Folder for the runs, the table and the figure.")],
    variants: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="VARIANT",
            help="Recipes in order. NAME=RECIPE:path=value,path=value is a recipe with settings of "
            "its own: narrow=tiny:model.width=64,model.heads=2",
            show_default="from a fixed vector to the Transformer",
        ),
    ] = None,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    trees: TreesFile = None,
    valid_source: Source = None,
    valid_target: Target = None,
    valid_pairs: PairsFile = None,
    valid_trees: TreesFile = None,
    test_source: Source = None,
    test_target: Target = None,
    test_pairs: PairsFile = None,
    test_trees: TreesFile = None,
    steps: Annotated[Optional[int], typer.Option(min=1, help="Updates per variant.")] = None,
    epochs: Annotated[Optional[float], typer.Option(help="Epochs per variant.")] = None,
    minutes: Annotated[
        Optional[float], typer.Option(help="Minutes of training per variant.")
    ] = None,
    seed: Annotated[Optional[int], typer.Option(min=0, help="Random seed of all variants.")] = None,
    settings: Settings = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = "13a",
    quiet: Annotated[bool, typer.Option(help="Do not show the progress of training.")] = False,
) -> None:
    """Train recipes one after the other and compare them in one table; resumable."""
    from regard.data.parallel import Parallel
    from regard.ladders.ladder import ladder

    results = ladder(
        variants or [],
        Parallel(source, target, pairs, trees),
        output=output,
        valid=Parallel(valid_source, valid_target, valid_pairs, valid_trees),
        test=Parallel(test_source, test_target, test_pairs, test_trees),
        steps=steps,
        epochs=epochs,
        minutes=minutes,
        settings=[*_assign("seed", seed), *(settings or [])],
        metrics=text_metrics(lowercase, tokenize),
        quiet=quiet,
        say=say,
    )
    say(f"The table is in {output / 'ladder.md'}; {output / 'ladder.html'} has the figure too.")
    if failed := [result.variant.name for result in results if result.measured is None]:
        raise RegardError(
            f"{len(failed)} of {len(results)} variants failed to train ({', '.join(failed)}): the "
            "table says why, and the same command tries again."
        )


def info(run: RunFolder, json: AsJson = False) -> None:
    """Show what is in a run."""
    from regard.runs.facts import describe
    from regard.runs.folder import Run

    facts = describe(Run.open(run), say)
    if json:
        print_json(facts)
        return
    config = facts.pop("config")
    for name, value in facts.items():
        typer.echo(f"{name.replace('_', ' ')}: {value}")
    typer.echo("config:")
    for section, values in config.items():
        typer.echo(f"  {section}: {values}")


def recipes() -> None:
    """List the recipes."""
    from regard.recipes import RECIPES

    for name, recipe in RECIPES.items():
        typer.echo(f"{name:16} {recipe.__doc__}")


def corpus(
    name: Annotated[str, typer.Argument(help="Which corpus: grammar, listops, copy, ...")],
    output: Annotated[Path, typer.Option(help="The folder to write to.")],
    pairs: Annotated[int, typer.Option(min=1, help="Training pairs.")] = 100_000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Write a corpus that ships with regard: train, valid and test files."""
    from regard.corpora.registry import write_corpus

    write_corpus(name, output, pairs, seed)
    say(f"Wrote {pairs:,} training pairs, and valid and test, to {output}.")


def demo(
    folder: Annotated[Path, typer.Option(help="Where to work.")] = Path("demo"),
) -> None:
    """Train a small translator on the built-in corpus and show what it can do."""
    from regard.demo import run_demo

    run_demo(folder)
