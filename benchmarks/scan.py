"""Which kinds of position generalise to longer outputs: SCAN by length (Lake and Baroni 2018).

python -m benchmarks.scan --data ../shared/data/scan --runs DIR
    [--positions sinusoidal shaw alibi rotary none] [--splits official 26 simple]
    [--minutes 10 | --steps N] [--seeds 1] [--set model.layers=3] [--output results.json]

The official split trains on at most 22 actions and tests on 24 to 48. A number N gives another
split of the same pairs: train on at most N actions, test on more (Csordás et al. 2021, arXiv
2108.12284, who report 100 % for relative positions at 26). The simple split is at random, so that
nothing has to be generalised to. Exact match, greedy search.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

from benchmarks.variants import Task, add_options, budget, measure, report

POSITIONS = ("sinusoidal", "shaw", "alibi", "rotary", "none")
MINUTES = 10.0
SETTINGS = ("training.validate_every=1000000",)
"""Validation runs only at the end, so that the last weights are used: validation pairs of the
training lengths do not show which weights generalise best to longer ones."""


def lines_of(data: Path, name: str, split: str) -> list[str]:
    path = data / f"{split}_split" / f"tasks_{name}_{split}.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [line.rstrip("\n") for line in stream]


def actions(line: str) -> int:
    return len(line.split("\t")[1].split())


def prepare(data: Path, split: str, folder: Path) -> Task:
    """Write the pairs of one split to the folder."""
    kind = "simple" if split == "simple" else "length"
    train, test = (lines_of(data, name, kind) for name in ("train", "test"))
    if split not in ("official", "simple"):
        everything, max_actions = [*train, *test], int(split)
        train = [line for line in everything if actions(line) <= max_actions]
        test = [line for line in everything if actions(line) > max_actions]
    folder.mkdir(parents=True, exist_ok=True)
    files = (folder / f"{name}-{split}.tsv" for name in ("train", "test"))
    task = Task(split if split == "simple" else f"length {split}", *files, recipe="scan")
    for path, lines in ((task.train, train), (task.test, test)):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{task.name}: {len(train):,} training pairs, {len(test):,} test pairs", flush=True)
    return task


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--positions", nargs="+", default=list(POSITIONS))
    parser.add_argument("--splits", nargs="+", default=["official", "26"])
    add_options(parser, MINUTES)
    arguments = parser.parse_args()
    rows = []
    for split in arguments.splits:
        task = prepare(arguments.data, split, arguments.runs / "data")
        for seed in arguments.seeds:
            for position in arguments.positions:
                settings = [*SETTINGS, *arguments.settings, f"model.position={position}"]
                run = arguments.runs / f"{split}-{position}-{seed}"
                limit = budget(arguments, MINUTES)
                rows.append(measure(task, position, run, settings, seed, limit))
                report(rows, arguments.output)


if __name__ == "__main__":
    main()
