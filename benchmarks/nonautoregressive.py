"""What writing all words at once costs and gains: BLEU, and the latency of one sentence.

python -m benchmarks.nonautoregressive --data ../shared/data/multi30k-tok --runs DIR
    [--names train val test_2016_flickr] [--minutes 15 | --steps N [--student-steps N]]
    [--parts scores latency] [--lines 100] [--seed 1] [--output results.json]

A teacher is trained, its translations of the training source are the targets of two students with
its encoder: one that is not autoregressive, and one whose decoder has a single layer, since a deep
decoder would be too easy to beat. Latency is greedy, one sentence at a time on one core, the models
in turn so that other load on the machine disturbs all alike; each figure is a ratio to the teacher.
Existing runs are resumed; finished ones are only measured again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks.quality import regard
from regard.data.corpus import read_plain
from regard.runs.folder import Run
from regard.runs.load import load_predictor

ROUNDS = 5
DRAWS = 10


class Data:
    """Files NAME.en and NAME.de, plain or gzip, of training, validation and test."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.folder = folder
        self.train, self.valid, self.test = names

    def file(self, name: str, language: str) -> Path:
        plain = self.folder / f"{name}.{language}"
        return plain if plain.exists() else plain.with_name(f"{plain.name}.gz")

    def pair(self, name: str, prefix: str = "") -> list[str]:
        sides = (("source", "en"), ("target", "de"))
        return [f"--{prefix}{side}={self.file(name, language)}" for side, language in sides]


def train_all(data: Data, runs: Path, budgets: tuple[str, str], seed: int) -> dict[str, Path]:
    """The teacher and its students, by name; the second budget is that of the students."""
    found = {name: runs / name for name in ("teacher", "nonautoregressive", "shallow")}
    valid = [*data.pair(data.valid, "valid-"), f"--seed={seed}"]
    first = [f"--run={found['teacher']}", *data.pair(data.train), *valid, budgets[0]]
    regard("train", "multi30k", *first)
    source = f"--source={data.file(data.train, 'en')}"
    distilled, links = runs / "distilled.de", runs / "distilled.align"
    if not distilled.exists():
        print(
            regard(
                "distill",
                found["teacher"],
                *data.pair(data.train),
                f"--output={distilled}",
            ).strip(),
            flush=True,
        )
    target = f"--target={distilled}"
    if not links.exists():
        regard("align", found["teacher"], source, target, f"--output={links}")
    start = ["--from", f"{found['teacher']}:encoder", source, target, *valid, budgets[1]]
    name = "nonautoregressive"
    regard("train", name, f"--run={found[name]}", f"--alignments={links}", *start)
    one_layer = ["--set", "model.decoder_layers=1"]
    regard("train", "multi30k", f"--run={found['shallow']}", *one_layer, *start)
    return found


def scores(data: Data, runs: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """BLEU on the test data, by how it was decoded."""
    student = runs["nonautoregressive"]
    judge = ["--judge", "own=0", "--judge", f"pair={runs['teacher']}:1"]
    ways: dict[str, list[object]] = {
        "teacher, beam 5": [runs["teacher"], "--beam=5"],
        "teacher, greedy": [runs["teacher"], "--beam=1"],
        "one-layer decoder, greedy": [runs["shallow"], "--beam=1"],
        "non-autoregressive": [student, "--beam=1"],
        f"non-autoregressive, {DRAWS} fertilities": [student, f"--beam={DRAWS}"],
        f"non-autoregressive, {DRAWS} fertilities and teacher": [
            *(student, f"--beam={DRAWS}"),
            *judge,
        ],
    }
    found = {}
    for name, how in ways.items():
        given = [*how, *data.pair(data.test), "--tokenize=none", "--json"]
        listed = json.loads(regard("evaluate", *given))["scores"]
        found[name] = next(each for each in listed if each["name"] == "BLEU")
        print(f"{name}: BLEU {found[name]['value']:.2f} [{found[name]['signature']}]", flush=True)
    return found


def latencies(data: Data, runs: Mapping[str, Path], lines: int) -> dict[str, float]:
    """Median seconds per sentence, relative to the teacher's, of sentences one at a time."""
    torch.set_num_threads(1)
    texts = [line for line in read_plain(data.file(data.test, "en")) if line.strip()][:lines]
    predictors = {}
    for name, path in runs.items():
        run = Run.open(path)
        predictors[name] = load_predictor(run, run.config.search.quick())
        predictors[name](texts[:5])
    taken: dict[str, list[float]] = {name: [] for name in predictors}
    for _ in range(ROUNDS):
        for name, predictor in predictors.items():
            began = time.perf_counter()
            for text in texts:
                predictor(text)
            taken[name].append((time.perf_counter() - began) / len(texts))
    middle = {name: statistics.median(each) for name, each in taken.items()}
    ratios = {name: value / middle["teacher"] for name, value in middle.items()}
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.3f} of the teacher's latency at batch 1, greedy", flush=True)
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--names", nargs=3, default=["train", "val", "test_2016_flickr"])
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--student-steps", type=int, help="of the students, if not --steps")
    parser.add_argument("--parts", nargs="+", default=["scores", "latency"])
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    data = Data(arguments.data, arguments.names)
    budget = f"--minutes={arguments.minutes}"
    if arguments.steps is not None:
        budget = f"--steps={arguments.steps}"
    students = arguments.student_steps
    budgets = (budget, budget if students is None else f"--steps={students}")
    runs = train_all(data, arguments.runs, budgets, arguments.seed)
    results: dict[str, Any] = {"budgets": budgets, "seed": arguments.seed}
    if "scores" in arguments.parts:
        results["scores"] = scores(data, runs)
    if "latency" in arguments.parts:
        results["latency"] = latencies(data, runs, arguments.lines)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
