"""Does attention help? Hierarchical attention against mean pooling on film reviews.

python -m benchmarks.documents --data ../shared/data/text-classification --runs DIR
    [--poolings attention mean] [--minutes 5 | --steps N] [--seeds 1 2 3]
    [--set model.width=64] [--output results.json]

2,000 reviews (Pang and Lee 2004), of which 200 are test reviews. Accuracy, and the difference
between the two over all seeds with its 95 % interval, by a paired bootstrap over the reviews.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.variants import Task, add_options, budget, measure, report
from regard.metrics.bootstrap import resample

MINUTES = 5.0


def prepare(data: Path, folder: Path) -> Task:
    """Write the reviews with their text first and their label second."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {part: folder / f"{part}.tsv" for part in ("train", "dev", "test")}
    for part, path in paths.items():
        with gzip.open(data / f"movie_reviews.{part}.tsv.gz", "rt", encoding="utf-8") as stream:
            rows = [line.rstrip("\n").split("\t") for line in stream]
        text = "".join(f"{review}\t{label}\n" for label, review in rows)
        path.write_text(text, encoding="utf-8")
    name, score = "film reviews", "accuracy"
    return Task(name, paths["train"], paths["test"], paths["dev"], "hierarchical", score)


def difference(task: Task, rows: Sequence[dict[str, Any]]) -> str:
    """Accuracy with attention minus that with equal weights, in points."""
    labels = [line.split("\t")[1] for line in task.test.read_text(encoding="utf-8").splitlines()]
    right = {
        pooling: np.mean(
            [
                [found == label for found, label in zip(row["outputs"], labels, strict=True)]
                for row in rows
                if row["variant"] == pooling
            ],
            axis=0,
        )
        for pooling in ("attention", "mean")
    }
    points = 100 * (right["attention"] - right["mean"])  # per review, over the seeds
    low, high = np.quantile(
        resample(lambda total: total[0] / len(points), points[:, None], 10_000), (0.025, 0.975)
    )
    return (
        f"attention - mean: {points.mean():+.2f} points (95 % interval {low:+.2f} to {high:+.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--poolings", nargs="+", default=["attention", "mean"])
    add_options(parser, MINUTES)
    arguments = parser.parse_args()
    task, rows = prepare(arguments.data, arguments.runs / "data"), []
    for seed in arguments.seeds:
        for pooling in arguments.poolings:
            settings = [*arguments.settings, f"model.pooling={pooling}"]
            run = arguments.runs / f"{pooling}-{seed}"
            limit = budget(arguments, MINUTES)
            rows.append(measure(task, pooling, run, settings, seed, limit))
            report(rows, arguments.output)
    if {"attention", "mean"} <= set(arguments.poolings):
        print(difference(task, rows))


if __name__ == "__main__":
    main()
