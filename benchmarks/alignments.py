"""Alignment error rate on hand-aligned text: trained on tatoeba-en-de, tested on Europarl de-en.

python -m benchmarks.alignments --pairs ../shared/data/tatoeba-en-de
    --gold ../shared/data/word-alignment --runs DIR [--minutes 20] [--seed 1]
    [--output results.json]

The gold text is lower-cased and tokenised, so the training text is too, by sacreBLEU's 13a. Gold
lines have 8 to 21 words and those of tatoeba 6 or 7, so each training line joins one to four random
pairs. The gold alignment is from German to English, the model translates the other way. Attention
heads are arguments by the agreement of both directions on the validation data, without the gold
alignment.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from benchmarks.quality import regard

METHODS = ("argmax", "intersection", "grow-diag")


def lines_of(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as stream:
        yield from stream


def prepare(pairs: Path, folder: Path, seed: int) -> tuple[Path, Path]:
    """Write the training and validation pairs, tokenised, lower-cased and joined."""
    tokenize, generator = Tokenizer13a(), random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in ("train.tsv.gz", "dev.tsv"):
        lines = [line.rstrip("\n").split("\t") for line in lines_of(pairs / name)]
        generator.shuffle(lines)
        path = folder / f"{name.split('.')[0]}.tsv"
        with path.open("w", encoding="utf-8") as stream:
            for group in groups(lines, generator):
                sides = (" ".join(side) for side in zip(*group, strict=True))
                stream.write("\t".join(tokenize(side).lower() for side in sides) + "\n")
        written.append(path)
    return written[0], written[1]


def groups(pairs: Sequence[list[str]], generator: random.Random) -> Iterator[Sequence[list[str]]]:
    """Groups of one to four consecutive pairs."""
    start = 0
    while start < len(pairs):
        stop = start + generator.randint(1, 4)
        yield pairs[start:stop]
        start = stop


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    train, valid = prepare(arguments.pairs, arguments.runs / "data", arguments.seed)
    run = arguments.runs / f"tatoeba-{arguments.minutes:g}-{arguments.seed}"
    began = time.time()
    regard(
        "train",
        "tiny",
        f"--run={run}",
        f"--pairs={train}",
        f"--valid-pairs={valid}",
        f"--minutes={arguments.minutes}",
        f"--seed={arguments.seed}",
    )
    results: dict[str, Any] = {"minutes": (time.time() - began) / 60, "seed": arguments.seed}
    for method in METHODS:
        found = json.loads(
            regard(
                "evaluate",
                run,
                f"--source={arguments.gold / 'bicici-test.en'}",
                f"--target={arguments.gold / 'bicici-test.de'}",
                f"--alignments={arguments.gold / 'bicici-de-en.wa'}",
                "--gold-reversed",
                f"--method={method}",
                "--json",
            )
        )
        results[method] = {each["name"]: each for each in found["scores"]}
        rate = results[method]["AER"]
        print(f"{method}: alignment error rate {rate['value']:.2f} [{rate['signature']}]")
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
