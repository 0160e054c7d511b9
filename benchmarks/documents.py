"""Does attention help? Hierarchical attention against mean pooling on film reviews.

python -m benchmarks.documents --data ../shared/data/text-classification --runs DIR
    [--poolings attention mean] [--minutes 5 | --steps N] [--seeds 1 2 3] [--folds 5 [--first 3]]
    [--set model.width=64] [--output results.json]

2,000 reviews (Pang and Lee 2004), of which 200 are test reviews. With --folds each review is a test
review once, or with --first only those of the first folds; of the others 100 choose the checkpoint
and the rest are trained on. Accuracy, and the difference between the two over all folds and seeds
with its 95 % interval, by a paired bootstrap over the reviews.
"""

from __future__ import annotations

import argparse
import gzip
import random
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.variants import Task, add_options, budget, measure, report
from regard.metrics.bootstrap import resample

MINUTES = 5.0
VALIDATION = 100
"""Reviews outside of a fold that choose the checkpoint."""


def read(data: Path, part: str) -> list[str]:
    """The reviews of a part, with their text first and their label second."""
    with gzip.open(data / f"movie_reviews.{part}.tsv.gz", "rt", encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    return [f"{review}\t{label}\n" for label, review in rows]


def prepare(data: Path, folder: Path, folds: int) -> list[Task]:
    """One task, or one for each fold."""
    parts = {part: read(data, part) for part in ("train", "dev", "test")}
    if not folds:
        return [write(parts, folder, "film reviews")]
    every = list(chain.from_iterable(parts.values()))
    random.Random(1).shuffle(every)
    portions = [every[start::folds] for start in range(folds)]
    tasks = []
    for fold in range(folds):
        test, *others = portions[fold:] + portions[:fold]
        rest = list(chain.from_iterable(others))
        parts = {"train": rest[VALIDATION:], "dev": rest[:VALIDATION], "test": test}
        tasks.append(write(parts, folder / f"fold-{fold + 1}", f"fold {fold + 1}"))
    return tasks


def write(parts: Mapping[str, Sequence[str]], folder: Path, name: str) -> Task:
    folder.mkdir(parents=True, exist_ok=True)
    paths = {part: folder / f"{part}.tsv" for part in parts}
    for part, lines in parts.items():
        paths[part].write_text("".join(lines), encoding="utf-8")
    return Task(name, paths["train"], paths["test"], paths["dev"], "hierarchical", "accuracy")


def right(task: Task, rows: Sequence[dict[str, Any]], pooling: str) -> NDArray[np.float64]:
    """Of each test review of a task, the share of seeds that label it rightly."""
    labels = [line.split("\t")[1] for line in task.test.read_text(encoding="utf-8").splitlines()]
    chosen = [row for row in rows if (row["task"], row["variant"]) == (task.name, pooling)]
    found = [np.array(row["outputs"]) == np.array(labels) for row in chosen]
    return np.mean(found, axis=0)


def difference(tasks: Sequence[Task], rows: Sequence[dict[str, Any]]) -> str:
    """Accuracy with attention minus that with equal weights, in points."""
    points = 100 * np.concatenate(
        [right(task, rows, "attention") - right(task, rows, "mean") for task in tasks]
    )  # per review, over the seeds
    low, high = np.quantile(
        resample(lambda total: total[0] / len(points), points[:, None], 10_000), (0.025, 0.975)
    )
    return (
        f"attention - mean: {points.mean():+.2f} points (95 % interval {low:+.2f} to {high:+.2f}, "
        f"{len(points):,} reviews)"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--poolings", nargs="+", default=["attention", "mean"])
    parser.add_argument("--folds", type=int, default=0, help="cross-validate; 0: the test part")
    parser.add_argument("--first", type=int, help="only so many of the folds")
    add_options(parser, MINUTES)
    arguments = parser.parse_args()
    tasks = prepare(arguments.data, arguments.runs / "data", arguments.folds)[: arguments.first]
    limit, rows, done = budget(arguments, MINUTES), [], []
    for seed in arguments.seeds:
        for task in tasks:
            for pooling in arguments.poolings:
                settings = [*arguments.settings, f"model.pooling={pooling}"]
                run = arguments.runs / f"{task.name.replace(' ', '-')}-{pooling}-{seed}"
                rows.append(measure(task, pooling, run, settings, seed, limit))
                report(rows, arguments.output)
            done = [*done, task] if seed == arguments.seeds[0] else done
            if {"attention", "mean"} <= set(arguments.poolings):
                print(difference(done, rows), flush=True)


if __name__ == "__main__":
    main()
