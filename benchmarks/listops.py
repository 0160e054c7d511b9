"""Which mixers model long-range dependencies: a small ListOps.

python -m benchmarks.listops --runs DIR [--mixers full window bigbird linformer linear]
    [--pairs 50000] [--minutes 10 | --steps N] [--seeds 1] [--set model.layers=4]
    [--output results.json]

Expressions of at most 200 tokens, drawn by regard.corpora.listops (Nangia and Bowman 2018). Each
mixer is used in every encoder layer and trained for the same number of minutes or steps. In the
Long Range Arena (Tay et al. 2020, arXiv 2011.04006), with expressions ten times as long, full
attention, BigBird and Linformer reach about 36 %, a local window 16 %.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.variants import Task, add_options, budget, measure, report
from regard.corpora import listops

MIXERS = ("full", "window", "bigbird", "linformer", "linear")
MINUTES = 10.0
PAIRS = 50_000
SETTINGS = (
    "tokenizer.kind=word",
    "tokenizer.vocabulary=100",
    "batch.tokens=4096",
    "model.decoder_layers=1",
    "model.mixing.neighbourhood=16",
    "model.mixing.block=8",
    "model.mixing.projected=32",
    "model.dropout=0.1",
    "model.smoothing=0",
    "training.dropout_start=1",
    "training.optimizer.kind=muon",
    "training.optimizer.rate=0.002",
    "training.optimizer.weight_decay=0.1",
    "training.metric=exact",
    "search.beam=1",
    "search.max_length_ratio=0.01",
    "search.max_length_extra=4",
)
"""An answer is one digit, so search is limited to short outputs. A window covers 16 positions,
BigBird 48, and Linformer 32 projections of all; the median length of an expression is 29 tokens."""


def prepare(folder: Path, pairs: int, seed: int) -> Task:
    """Write the corpus, and print the accuracy of always giving the most frequent answer."""
    corpus = listops.generate(pairs, seed)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{split}-{pairs}-{seed}.tsv" for split in ("train", "valid", "test")]
    for path, split in zip(paths, (corpus.train, corpus.valid, corpus.test), strict=True):
        write(path, split)
    train, valid, test = paths
    ((answer, count),) = Counter(each.target for each in corpus.test).most_common(1)
    print(f"Majority baseline: always {answer}, {count / len(corpus.test):.1%} exact.", flush=True)
    return Task("listops", train, test, valid)


def write(path: Path, expressions: Sequence[listops.Expression]) -> None:
    lines = "".join(f"{each.source}\t{each.target}\n" for each in expressions)
    path.write_text(lines, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mixers", nargs="+", default=list(MIXERS))
    parser.add_argument("--pairs", type=int, default=PAIRS)
    add_options(parser, MINUTES)
    arguments = parser.parse_args()
    rows = []
    task = prepare(arguments.runs / "data", arguments.pairs, seed=1)
    for seed in arguments.seeds:
        for mixer in arguments.mixers:
            settings = [*SETTINGS, *arguments.settings, f"model.mixers={json.dumps([mixer])}"]
            run = arguments.runs / f"{mixer}-{seed}"
            rows.append(measure(task, mixer, run, settings, seed, budget(arguments, MINUTES)))
            report(rows, arguments.output)


if __name__ == "__main__":
    main()
