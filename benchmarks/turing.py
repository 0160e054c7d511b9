"""Does a Neural Turing Machine learn algorithms: copying far beyond the lengths it was trained on.

python -m benchmarks.turing --runs DIR [--tasks copy repeat_copy associative_recall] [--seeds 1 2 3]
    [--variants turing lstm] [--steps 800] [--lstm-steps 1500] [--pairs 50000]
    [--set model.width=100] [--output results.json]

The tasks of regard.corpora.algorithms (Graves et al. 2014, arXiv 1410.5401), with their test sets
by length. The control is two LSTMs joined by one fixed vector, with ten times the parameters. Each
run uses one process; the same command resumes. Symbol errors are in per cent, by position.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import regard
from benchmarks.variants import parameters
from regard.corpora import algorithms

LSTM = (
    "tokenizer.kind=word",
    "tokenizer.vocabulary=1000",
    "batch.tokens=1024",
    "model.width=144",
    "model.dropout=0",
    "model.smoothing=0",
    "training.average.kind=none",
    "training.optimizer.rate=3e-3",
    "training.optimizer.weight_decay=0",
    "training.metric=symbol_error",
    "training.validate_every=250",
    "training.validation_lines=200",
    "search.beam=1",
)
VARIANTS = {"turing": ("turing", ()), "lstm": ("rnn_plain", LSTM)}
"""A recipe, and what is set of it."""

TASK_SETTINGS: dict[str, tuple[str, ...]] = {
    "copy": (),
    "repeat_copy": ("search.max_length_ratio=12",),
    "associative_recall": (),
    "priority_sort": (),
}
MACHINE_SETTINGS: dict[str, tuple[str, ...]] = {
    "repeat_copy": ("model.lookup=true", "model.feed=true", "model.read_heads=2"),
    "associative_recall": ("model.lookup=true",),
}
"""What the machine alone needs for a task."""


def prepare(folder: Path, task: str, pairs: int) -> Path:
    """Write the corpus of a task unless it is there already."""
    corpus = folder / f"{task}-{pairs}"
    if not (corpus / "done").exists():
        algorithms.write(algorithms.generate(task, pairs, seed=1), corpus)
        (corpus / "done").touch()
    return corpus


def split(corpus: Path, name: str) -> regard.Parallel:
    return regard.Parallel(corpus / f"{name}.source", corpus / f"{name}.target")


def measure(
    corpus: Path, task: str, variant: str, seed: int, steps: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Train or resume a run, and measure the symbol error on each test set."""
    began = time.time()
    recipe, fixed = VARIANTS[variant]
    run = arguments.runs / f"{task}-{variant}-{seed}"
    needed = MACHINE_SETTINGS.get(task, ()) if variant == "turing" else ()
    settings = [*fixed, *TASK_SETTINGS[task], *needed, *arguments.settings]
    trained = regard.train(
        recipe,
        split(corpus, "train"),
        run=run,
        valid=split(corpus, "valid"),
        steps=steps,
        settings=[f"training.seed={seed}", "training.processes=1", *settings],
    )
    minutes = (time.time() - began) / 60
    errors = {
        str(length): regard.evaluate(run, split(corpus, f"test.{length}"))["symbol error"]
        for length in algorithms.TASKS[task].tests
    }
    return {
        "task": task,
        "variant": variant,
        "seed": seed,
        "steps": steps,
        "minutes": round(minutes, 2),
        "parameters": parameters(trained),
        "valid": regard.evaluate(run)["symbol error"],
        "symbol_error": errors,
        "settings": settings,
    }


def report(row: dict[str, Any]) -> None:
    errors = ", ".join(f"{length}: {error:.2f}" for length, error in row["symbol_error"].items())
    facts = f"{row['steps']} steps, {row['minutes']:.1f} minutes, {row['parameters']:,} parameters"
    name = f"{row['task']} {row['variant']} seed {row['seed']}"
    print(f"{name} ({facts}): valid {row['valid']:.2f}; {errors}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=Path, required=True, help="folder for data and runs")
    parser.add_argument("--tasks", nargs="+", choices=list(TASK_SETTINGS), default=["copy"])
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--steps", type=int, default=800, help="of the machine")
    parser.add_argument("--lstm-steps", type=int, default=1500, help="of the control")
    parser.add_argument("--set", nargs="+", default=[], metavar="PATH=VALUE", dest="settings")
    parser.add_argument("--output", type=Path, help="write the results here, as JSON")
    arguments = parser.parse_args()
    rows = []
    for task in arguments.tasks:
        corpus = prepare(arguments.runs / "data", task, arguments.pairs)
        for variant in arguments.variants:
            steps = arguments.steps if variant == "turing" else arguments.lstm_steps
            for seed in arguments.seeds:
                rows.append(measure(corpus, task, variant, seed, steps, arguments))
                report(rows[-1])
                if arguments.output is not None:
                    arguments.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
