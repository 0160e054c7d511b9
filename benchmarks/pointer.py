"""Does a pointer network find convex hulls and short tours, and sort numbers?

python -m benchmarks.pointer --runs DIR [--tasks convex_hull tour sorting] [--sizes 5-10]
    [--seeds 1 2 3] [--steps 3000] [--pairs 400000] [--set model.width=128] [--output results.json]
    [--figure figure.png]

The tasks of regard.corpora.points (Vinyals et al. 2015, arXiv 1506.03134): one model is trained on
lines of all sizes of a range and tested on each size apart, with greedy search and with a beam of
10. Each run uses one process; the same command resumes. With --figure, the first test lines of 10
points are drawn with what the model of the first seed wrote.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import regard
from benchmarks.variants import parameters
from regard.corpora import algorithms, points
from regard.drawing.points import Drawn, save_points
from regard.metrics.base import Score
from regard.metrics.points import chosen, read_points
from regard.runs.folder import Run

SETTINGS: dict[str, tuple[str, ...]] = {
    "convex_hull": ("training.metric=covered_area",),
    "tour": ("training.metric=tour_length", "search.visits=all"),
    "sorting": ("model.numbers=1", "search.visits=all"),
}
"""What is set of the recipe for each task."""

TEST_LINES = 2000
BEAMS = (1, 10)
DRAWN = 3


def prepare(folder: Path, task: str, sizes: str, pairs: int) -> Path:
    """Write the corpus of a task unless it is there already."""
    corpus = folder / f"{task}-{sizes}-{pairs}"
    if not (corpus / "done").exists():
        made = points.generate(task, pairs, 1, TEST_LINES, points.read_sizes(sizes))
        algorithms.write(made, corpus)
        (corpus / "done").touch()
    return corpus


def split(corpus: Path, name: str) -> regard.Parallel:
    return regard.Parallel(corpus / f"{name}.source", corpus / f"{name}.target")


def train(corpus: Path, task: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train or resume a run, and measure it on each test set."""
    began = time.time()
    run = run_of(task, seed, arguments)
    settings = [*SETTINGS[task], *arguments.settings]
    trained = regard.train(
        "pointer",
        split(corpus, "train"),
        run=run,
        valid=split(corpus, "valid"),
        steps=arguments.steps,
        settings=[f"training.seed={seed}", "training.processes=1", *settings],
    )
    minutes = (time.time() - began) / 60
    return {
        "task": task,
        "sizes": arguments.sizes,
        "seed": seed,
        "steps": arguments.steps,
        "minutes": round(minutes, 2),
        "parameters": parameters(trained),
        "settings": settings,
        "scores": {
            f"{size} points, beam {beam}": measure(run, split(corpus, f"test.{size}"), beam)
            for size in points.TASKS[task].tests
            for beam in BEAMS
        },
    }


def run_of(task: str, seed: int, arguments: argparse.Namespace) -> Path:
    folder: Path = arguments.runs
    return folder / f"{task}-{arguments.sizes}-{seed}"


def measure(run: Path, test: regard.Parallel, beam: int) -> dict[str, dict[str, Any]]:
    """The scores by name: value and margin."""
    search = Run.open(run).config.search.changed(beam=beam)
    found = regard.evaluate(run, test, search=search, workers=1).scores
    return {score.name: {"value": score.value, "margin": score.margin} for score in found}


def report(row: dict[str, Any]) -> None:
    facts = f"{row['steps']} steps, {row['minutes']:.1f} minutes, {row['parameters']:,} parameters"
    print(f"{row['task']} {row['sizes']} seed {row['seed']} ({facts})")
    for name, scores in row["scores"].items():
        shown = [
            str(Score(label, each["value"], "", each["margin"])).removesuffix("  []")
            for label, each in scores.items()
        ]
        print(f"  {name}: {', '.join(shown)}", flush=True)


def draw(corpus: Path, task: str, run: Path) -> list[Drawn]:
    """Lines of 10 points with what a run writes for them and what is right."""
    sources, targets = (
        (corpus / f"test.10.{side}").read_text(encoding="utf-8").splitlines()[:DRAWN]
        for side in ("source", "target")
    )
    found = []
    for source, target, output in zip(sources, targets, regard.load(run)(sources), strict=True):
        every = read_points(source)
        paths = (chosen(every, indices.split()) for indices in (output, target))
        found.append(Drawn(f"{task}: {output}", every, *paths))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=Path, required=True, help="folder for data and runs")
    parser.add_argument("--tasks", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--sizes", default="5-10", help="points of a training line: N or N-M")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--pairs", type=int, default=400_000)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--set", nargs="+", default=[], metavar="PATH=VALUE", dest="settings")
    parser.add_argument("--output", type=Path, help="write the results here, as JSON")
    parser.add_argument("--figure", type=Path, help="draw some test lines here, as .png or .svg")
    arguments = parser.parse_args()
    rows, drawn = [], []
    for task in arguments.tasks:
        corpus = prepare(arguments.runs / "data", task, arguments.sizes, arguments.pairs)
        for seed in arguments.seeds:
            rows.append(train(corpus, task, seed, arguments))
            report(rows[-1])
            if arguments.output is not None:
                arguments.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        if arguments.figure is not None and points.TASKS[task].numbers == 2:
            drawn += draw(corpus, task, run_of(task, arguments.seeds[0], arguments))
    if drawn:
        save_points(arguments.figure, drawn)


if __name__ == "__main__":
    main()
