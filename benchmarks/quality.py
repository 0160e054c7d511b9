"""What a budget buys: a recipe from raw text to scores on the published yardstick.

python -m benchmarks.quality --data ../shared/data/multi30k-tok --runs DIR
    [--recipe multi30k] [--languages de fr] [--minutes 5 15 60] [--seed 1] [--output results.json]

Tokenised lower-case text, beam 5, BLEU as sacreBLEU computes it without tokenising again. Runs that
are there already are gone on with, and scored again if they are finished.
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
    """The command as a user gives it; its notes go to the screen, its output comes back."""
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def files(data: Path, part: str, language: str, prefix: str = "") -> list[object]:
    return [
        f"--{prefix}source={data / f'{part}.en.gz'}",
        f"--{prefix}target={data / f'{part}.{language}.gz'}",
    ]


def measure(
    data: Path, run: Path, recipe: str, language: str, minutes: float, seed: int
) -> dict[str, Any]:
    """Train for a budget and score; the minutes that passed include making the tokenizer."""
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
    passed = (time.time() - began) / 60
    scores = {}
    for part in ("val", "test_2016_flickr"):
        found = json.loads(
            regard("evaluate", run, "--tokenize=none", "--json", *files(data, part, language))
        )
        scores[part] = {each["name"]: each for each in found["scores"]}
    told = {"recipe": recipe, "language": language, "budget": minutes, "seed": seed}
    return {**told, "passed": passed, **scores}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--recipe", default="multi30k")
    parser.add_argument("--languages", nargs="+", default=["de", "fr"])
    parser.add_argument("--minutes", nargs="+", type=float, default=[5, 15, 60])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    chosen.runs.mkdir(parents=True, exist_ok=True)
    results = []
    for minutes in chosen.minutes:
        for language in chosen.languages:
            run = chosen.runs / f"{chosen.recipe}-{language}-{minutes:g}-{chosen.seed}"
            row = measure(chosen.data, run, chosen.recipe, language, minutes, chosen.seed)
            results.append(row)
            bleu = row["test_2016_flickr"]["BLEU"]
            print(
                f"{chosen.recipe}, en-{language}, {minutes:g} minutes asked, "
                f"{row['passed']:.1f} passed: BLEU {bleu['value']:.2f} ± {bleu['margin']:.2f} "
                f"on test_2016, {row['val']['BLEU']['value']:.2f} on the validation data",
                flush=True,
            )
            if chosen.output:
                chosen.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
