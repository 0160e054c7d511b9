"""Spelling to phonemes: phoneme and word error rates on the CMU Pronouncing Dictionary.

python -m benchmarks.phonemes --data ../shared/data/cmudict-g2p --runs DIR
    [--recipe phonemes] [--minutes 20 | --steps N] [--seeds 1] [--set model.layers=3]
    [--output results.json]

train.tsv, dev.tsv and test.tsv (plain or gzip) have letters and phonemes, separated by spaces. A
word with several pronunciations has as many rows. All of them are trained on. A test word is
scored once: it is right if it matches any of its pronunciations, and its phoneme errors are those
beside the nearest. Validation knows the first pronunciation alone. Beam search as in the recipe.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import regard
from benchmarks.variants import Budget, add_options, budget, parameters
from regard.data.corpus import read_plain

MINUTES = 20.0


def read(data: Path, name: str) -> dict[str, list[str]]:
    """The pronunciations of each spelling."""
    plain = data / f"{name}.tsv"
    path = plain if plain.exists() else plain.with_name(f"{plain.name}.gz")
    found: dict[str, list[str]] = {}
    for line in read_plain(path):
        letters, phonemes = line.split("\t")
        found.setdefault(letters.replace(" ", ""), []).append(phonemes)
    return found


def prepare(data: Path, folder: Path) -> list[Path]:
    """Write the files of training, validation and test; the test references are returned, each
    with one pronunciation per word: the first again, where a word has no more."""
    folder.mkdir(parents=True, exist_ok=True)
    every = [(word, each) for word, some in read(data, "train").items() for each in some]
    valid = [(word, some[0]) for word, some in read(data, "dev").items()]
    for name, pairs in (("train", every), ("valid", valid)):
        write(folder / f"{name}.tsv", [f"{word}\t{phonemes}" for word, phonemes in pairs])
    test = read(data, "test")
    write(folder / "test.spelling", list(test))
    references = []
    for number in range(max(map(len, test.values()))):
        references.append(folder / f"test.phonemes.{number + 1}")
        write(references[-1], [(some[number:] or some)[0] for some in test.values()])
    print(f"{len(every):,} training pairs, {len(valid):,} and {len(test):,} words", flush=True)
    return references


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def measure(
    arguments: argparse.Namespace, references: list[Path], seed: int, limit: Budget
) -> dict[str, Any]:
    """Train or resume one run, and score it on the test words."""
    folder, run, began = arguments.runs / "data", arguments.runs / f"phonemes-{seed}", time.time()
    trained = regard.train(
        arguments.recipe,
        regard.Parallel(pairs=folder / "train.tsv"),
        run=run,
        valid=regard.Parallel(pairs=folder / "valid.tsv"),
        steps=limit.steps,
        minutes=limit.minutes,
        settings=[f"training.seed={seed}", *arguments.settings],
    )
    elapsed = (time.time() - began) / 60
    first, *others = references
    test = regard.Parallel(folder / "test.spelling", first)
    found = regard.evaluate(run, test, references=others)
    for score in found.scores:
        print(f"seed {seed}: {score}", flush=True)
    return {
        "seed": seed,
        "steps": trained.steps,
        "minutes": round(elapsed, 2),
        "parameters": parameters(trained),
        "settings": arguments.settings,
        "scores": {
            each.name: {"value": each.value, "margin": each.margin, "signature": each.signature}
            for each in found.scores
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--recipe", default="phonemes")
    add_options(parser, MINUTES)
    arguments = parser.parse_args()
    references = prepare(arguments.data, arguments.runs / "data")
    limit = budget(arguments, MINUTES)
    rows = [measure(arguments, references, seed, limit) for seed in arguments.seeds]
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
