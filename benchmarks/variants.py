"""One recipe in several variants on one task: train each, and count its exact answers."""

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


@dataclass(frozen=True)
class Task:
    """TSV files of training and test pairs; without `valid`, some of the training pairs are held
    out."""

    name: str
    train: Path
    test: Path
    valid: Optional[Path] = None


@dataclass(frozen=True)
class Budget:
    """How long each variant is trained; exactly one of the two is given."""

    steps: Optional[int]
    minutes: Optional[float]


def add_options(parser: argparse.ArgumentParser, minutes: float) -> None:
    """The options that both benchmarks share."""
    parser.add_argument("--runs", type=Path, required=True, help="folder for data and runs")
    parser.add_argument("--minutes", type=float, help=f"training per variant; default {minutes:g}")
    parser.add_argument("--steps", type=int, help="updates per variant, instead of minutes")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--set", nargs="+", default=[], metavar="PATH=VALUE", dest="settings")
    parser.add_argument("--output", type=Path, help="write the results to this file, as JSON")


def budget(chosen: argparse.Namespace, minutes: float) -> Budget:
    if chosen.steps is not None:
        return Budget(chosen.steps, None)
    return Budget(None, chosen.minutes or minutes)


def measure(
    task: Task, variant: str, run: Path, settings: Sequence[str], seed: int, length: Budget
) -> dict[str, Any]:
    """Train or resume a run, and count its exact answers on test and validation data."""
    began = time.time()
    trained = regard.train(
        "tiny",
        run=run,
        pairs=task.train,
        valid_pairs=task.valid,
        steps=length.steps,
        minutes=length.minutes,
        seed=seed,
        settings=settings,
    )
    passed = (time.time() - began) / 60
    test, valid = regard.evaluate(run, pairs=task.test), regard.evaluate(run)
    return {
        "task": task.name,
        "variant": variant,
        "seed": seed,
        "steps": trained.steps,
        "minutes": round(passed, 2),
        "parameters": parameters(trained),
        "valid": valid["exact"],
        "test": test["exact"],
        "by_length": by_length(task.test, test.outputs),
        "settings": list(settings),
    }


def parameters(run: Run) -> int:
    return sum(parameter.numel() for parameter in run.build_model().parameters())


def by_length(test: Path, outputs: Sequence[str]) -> dict[str, dict[str, float]]:
    """The percentage of exact answers, by the length of the longer side in tens of tokens."""
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


def report(rows: Sequence[dict[str, Any]], output: Optional[Path]) -> None:
    """Print the table so far, and write it with all details as JSON."""
    columns = ("task", "variant", "seed", "steps", "minutes", "parameters", "valid", "test")
    cells = [
        [f"{row[name]:.1f}" if name in ("valid", "test") else f"{row[name]}" for name in columns]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in (list(columns), *cells):
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    print(flush=True)
    if output is not None:
        output.write_text(json.dumps(list(rows), indent=1) + "\n", encoding="utf-8")
