"""Variants of a recipe on one task: train each and measure its score."""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import regard
from regard.runs.folder import Run
from regard.runs.load import build_model


@dataclass(frozen=True)
class Task:
    """TSV files of training and test pairs; without `valid`, some training pairs are held out.

    `score` is the name of the metric in an evaluation.
    """

    name: str
    train: Path
    test: Path
    valid: Optional[Path] = None
    recipe: str = "tiny"
    score: str = "exact"


@dataclass(frozen=True)
class Budget:
    """How long each variant is trained; exactly one of the two is given."""

    steps: Optional[int]
    minutes: Optional[float]


def add_options(parser: argparse.ArgumentParser, minutes: float) -> None:
    """The options that the benchmarks of tasks share."""
    parser.add_argument("--runs", type=Path, required=True, help="folder for data and runs")
    parser.add_argument("--minutes", type=float, help=f"per run; default {minutes:g}")
    parser.add_argument("--steps", type=int, help="updates per run, instead of minutes")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--set", nargs="+", default=[], metavar="PATH=VALUE", dest="settings")
    parser.add_argument("--output", type=Path, help="write the results here, as JSON")


def budget(arguments: argparse.Namespace, minutes: float) -> Budget:
    if arguments.steps is not None:
        return Budget(arguments.steps, None)
    return Budget(None, arguments.minutes or minutes)


def measure(
    task: Task, variant: str, run: Path, settings: Sequence[str], seed: int, limit: Budget
) -> dict[str, Any]:
    """Train or resume a run, and score it on test and validation data."""
    began = time.time()
    trained = regard.train(
        task.recipe,
        regard.Parallel(pairs=task.train),
        run=run,
        valid=regard.Parallel(pairs=task.valid),
        steps=limit.steps,
        minutes=limit.minutes,
        settings=[f"training.seed={seed}", *settings],
    )
    elapsed = (time.time() - began) / 60
    test, valid = regard.evaluate(run, regard.Parallel(pairs=task.test)), regard.evaluate(run)
    return {
        "task": task.name,
        "variant": variant,
        "seed": seed,
        "steps": trained.steps,
        "minutes": round(elapsed, 2),
        "parameters": parameters(trained),
        "valid": valid[task.score],
        "test": test[task.score],
        "by_length": by_length(task.test, test.outputs),
        "outputs": test.outputs,
        "settings": list(settings),
    }


def parameters(run: Run) -> int:
    return sum(parameter.numel() for parameter in build_model(run).parameters())


def by_length(test: Path, outputs: Sequence[str]) -> dict[str, dict[str, float]]:
    """Exact match by the length of the longer side, in buckets of ten tokens."""
    right: dict[int, list[bool]] = defaultdict(list)
    lines = test.read_text(encoding="utf-8").splitlines()
    for line, output in zip(lines, outputs, strict=True):
        source, target = line.split("\t")
        longer = max(len(source.split()), len(target.split()))
        right[longer // 10 * 10].append(output == target)
    return {
        f"{tens}-{tens + 9}": {"pairs": len(found), "exact": 100 * sum(found) / len(found)}
        for tens, found in sorted(right.items())
    }


def report(
    rows: Sequence[dict[str, Any]], output: Optional[Path], more: Sequence[str] = ()
) -> None:
    """Print a table of the results so far, with `more` columns of percentages, and write them with
    all details but the outputs as JSON."""
    columns = ("task", "variant", "seed", "steps", "minutes", "parameters", "valid", "test", *more)
    cells = [
        [
            f"{row[name]:.2f}" if name in ("valid", "test", *more) else f"{row[name]}"
            for name in columns
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in (list(columns), *cells):
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    print(flush=True)
    if output is not None:
        facts = [{name: row[name] for name in row if name != "outputs"} for row in rows]
        output.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
