"""Taggers on parts of speech: Universal Dependencies, English EWT.

python -m benchmarks.tagging --data ../shared/data/ud-en-ewt --runs DIR
    [--recipes tagger tagger_conv tagger_rnn] [--minutes 10 | --steps N] [--seeds 1]
    [--set model.width=256] [--output results.json]

Words and their universal tags, without pre-trained vectors. Accuracy over the words of the test
part, and over those of them that no training sentence has. (159 of its 2,077 sentences are training
sentences as well.)
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.variants import Task, add_options, budget, measure, report

MINUTES = 10.0
RECIPES = ("tagger", "tagger_conv", "tagger_rnn")


def prepare(data: Path, folder: Path) -> Task:
    folder.mkdir(parents=True, exist_ok=True)
    paths = {part: folder / f"{part}.tsv" for part in ("train", "dev", "test")}
    for part, path in paths.items():
        path.write_bytes(gzip.decompress((data / "upos" / f"{part}.tsv.gz").read_bytes()))
    return Task("EWT", paths["train"], paths["test"], paths["dev"], score="accuracy")


def pairs(path: Path) -> list[tuple[list[str], list[str]]]:
    """The words and the tags of each sentence."""
    sides = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [(words.split(), tags.split()) for words, tags in sides]


def unseen_accuracy(task: Task, outputs: Sequence[str]) -> float:
    """The percentage of right tags among the test words that no training sentence has."""
    known = {word for words, _ in pairs(task.train) for word in words}
    right = [
        found == tag
        for (words, tags), output in zip(pairs(task.test), outputs, strict=True)
        for word, tag, found in zip(words, tags, output.split(), strict=True)
        if word not in known
    ]
    return 100 * sum(right) / len(right)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES))
    add_options(parser, MINUTES)
    arguments = parser.parse_args()
    task, rows = prepare(arguments.data, arguments.runs / "data"), []
    for seed in arguments.seeds:
        for recipe in arguments.recipes:
            run, limit = arguments.runs / f"{recipe}-{seed}", budget(arguments, MINUTES)
            chosen = replace(task, recipe=recipe)
            rows.append(measure(chosen, recipe, run, arguments.settings, seed, limit))
            rows[-1]["unseen"] = unseen_accuracy(task, rows[-1]["outputs"])
            report(rows, arguments.output, ("unseen",))


if __name__ == "__main__":
    main()
