"""Translation quality for a training budget: a recipe, from raw text to BLEU on Multi30k.

python -m benchmarks.quality --data ../shared/data/multi30k-tok --runs DIR
    [--recipe multi30k] [--languages de fr] [--minutes 5 15 60] [--seed 1] [--output results.json]

Tokenised lower-case text, beam 5, sacreBLEU without further tokenisation. Existing runs are
resumed; finished ones are only scored again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def regard(*arguments: object) -> str:
    """Run a regard command and return its standard output; messages go to the terminal."""
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def files(data: Path, name: str, language: str, prefix: str = "") -> list[object]:
    return [
        f"--{prefix}source={data / f'{name}.en.gz'}",
        f"--{prefix}target={data / f'{name}.{language}.gz'}",
    ]


def measure(
    data: Path, run: Path, recipe: str, language: str, minutes: float, seed: int
) -> dict[str, Any]:
    """Train for a budget and score; the elapsed minutes include training the tokenizer."""
    began = time.time()
    regard(
        "train",
        recipe,
        f"--run={run}",
        f"--minutes={minutes}",
        f"--seed={seed}",
        *files(data, "train", language),
        *files(data, "val", language, "valid-"),
    )
    elapsed = (time.time() - began) / 60
    scores = {}
    for name in ("val", "test_2016_flickr"):
        found = json.loads(
            regard("evaluate", run, "--tokenize=none", "--json", *files(data, name, language))
        )
        scores[name] = {each["name"]: each for each in found["scores"]}
    facts = {"recipe": recipe, "language": language, "budget": minutes, "seed": seed}
    return {**facts, "minutes": elapsed, **scores}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--recipe", default="multi30k")
    parser.add_argument("--languages", nargs="+", default=["de", "fr"])
    parser.add_argument("--minutes", nargs="+", type=float, default=[5, 15, 60])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    results = []
    for minutes in arguments.minutes:
        for language in arguments.languages:
            run = arguments.runs / f"{arguments.recipe}-{language}-{minutes:g}-{arguments.seed}"
            row = measure(arguments.data, run, arguments.recipe, language, minutes, arguments.seed)
            results.append(row)
            bleu = row["test_2016_flickr"]["BLEU"]
            print(
                f"{arguments.recipe}, en-{language}, budget {minutes:g} minutes, "
                f"{row['minutes']:.1f} elapsed: BLEU {bleu['value']:.2f} ± {bleu['margin']:.2f} "
                f"on test_2016, {row['val']['BLEU']['value']:.2f} on the validation data",
                flush=True,
            )
            if arguments.output:
                arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
