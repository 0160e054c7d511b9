"""The verb that estimates what training takes: plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.completion import complete_recipe
from regard.cli.options import (
    AsJson,
    SampleColumns,
    Settings,
    Source,
    Target,
    TreesFiles,
    print_json,
)


def plan(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="Recipe to train: 'regard recipes' lists them.",
            autocompletion=complete_recipe,
        ),
    ],
    pairs: Annotated[
        Optional[str],
        typer.Option(
            metavar="NUMBER",
            help="Size of the corpus in pairs, such as 30k or 100M.",
            show_default="pairs in the sample",
        ),
    ] = None,
    accelerator: Annotated[
        str,
        typer.Option(
            "--device",
            metavar="NAME",
            help="a100, a100-40gb, h100, l4, t4, v100 or rtx4090; or cpu, cuda or mps of this "
            "machine, which is measured.",
        ),
    ] = "cpu",
    count: Annotated[int, typer.Option(min=1, max=100_000, help="Number of devices.")] = 1,
    source: Source = None,
    target: Target = None,
    sample: Annotated[
        Optional[list[Path]],
        typer.Option(
            metavar="FILE",
            help="A sample of the pairs in one file, instead of --source and --target.",
        ),
    ] = None,
    columns: SampleColumns = None,
    trees: TreesFiles = None,
    source_tokens: Annotated[
        Optional[float],
        typer.Option(
            min=2,
            max=1_000_000,
            help="Without a sample: average number of tokens per source line.",
            show_default="30",
        ),
    ] = None,
    target_tokens: Annotated[
        Optional[float],
        typer.Option(
            min=2, max=1_000_000, help="The same for target lines.", show_default="--source-tokens"
        ),
    ] = None,
    steps: Annotated[Optional[int], typer.Option(min=1, help="Budget in steps (updates).")] = None,
    epochs: Annotated[Optional[float], typer.Option(help="Budget in epochs.")] = None,
    minutes: Annotated[Optional[float], typer.Option(help="Budget in minutes.")] = None,
    settings: Settings = None,
    share: Annotated[
        Optional[float],
        typer.Option(
            min=1e-6,
            max=1,
            help="Fraction of the device's peak that matrix products reach, if you know it.",
            show_default="modelled per operation",
        ),
    ] = None,
    link: Annotated[
        Optional[float],
        typer.Option(
            min=0.001,
            help="Bandwidth between devices, in gigabytes per second.",
            show_default=False,
        ),
    ] = None,
    price: Annotated[
        Optional[float], typer.Option(min=0, help="Price of one device per hour.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Estimate memory, time and cost of training."""
    from regard.data.parallel import Parallel
    from regard.planning.plan import plan, read_count
    from regard.planning.report import facts_of

    data = Parallel(source, target, sample, trees, columns)
    estimate = plan(
        recipe,
        data or None,
        pairs=None if pairs is None else read_count(pairs),
        device=accelerator,
        count=count,
        settings=settings or [],
        steps=steps,
        epochs=epochs,
        minutes=minutes,
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        share=share,
        link=None if link is None else link * 1e9,
        price=price,
    )
    if json:
        print_json(estimate.to_json())
        return
    from regard.cli.tables import print_rows

    print_rows(facts_of(estimate))
    for sentence in estimate.advice:
        typer.echo(sentence)
