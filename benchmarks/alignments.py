"""Word alignments on hand-aligned text: a model of tatoeba-en-de, tested on Europarl de-en.

python -m benchmarks.alignments --pairs ../shared/data/tatoeba-en-de
    --gold ../shared/data/word-alignment --runs DIR [--minutes 20] [--seed 1]
    [--output results.json]

The gold text is lower-cased and cut into words, so the training text is made so too, by the words
of sacreBLEU's 13a. Its lines have 8 to 21 words and those of tatoeba 6 or 7, so one to four of
these, drawn at random, make a line to learn from. The gold alignment is from German to English, the
model goes the other way. Its heads are those in which both directions agree most on the validation
data: the gold alignment has no part in the choice.
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
    """Lower-cased words of the training and the validation pairs, one to four in a line."""
    cut, draw = Tokenizer13a(), random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in ("train.tsv.gz", "dev.tsv"):
        lines = [line.rstrip("\n").split("\t") for line in lines_of(pairs / name)]
        draw.shuffle(lines)
        path = folder / f"{name.split('.')[0]}.tsv"
        with path.open("w", encoding="utf-8") as stream:
            for together in joined(lines, draw):
                sides = (" ".join(side) for side in zip(*together, strict=True))
                stream.write("\t".join(cut(side).lower() for side in sides) + "\n")
        written.append(path)
    return written[0], written[1]


def joined(pairs: Sequence[list[str]], draw: random.Random) -> Iterator[Sequence[list[str]]]:
    start = 0
    while start < len(pairs):
        stop = start + draw.randint(1, 4)
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
    chosen = parser.parse_args()
    train, valid = prepare(chosen.pairs, chosen.runs / "data", chosen.seed)
    run = chosen.runs / f"tatoeba-{chosen.minutes:g}-{chosen.seed}"
    began = time.time()
    regard(
        "train",
        "tiny",
        f"--run={run}",
        f"--pairs={train}",
        f"--valid-pairs={valid}",
        f"--minutes={chosen.minutes}",
        f"--seed={chosen.seed}",
    )
    results: dict[str, Any] = {"passed": (time.time() - began) / 60, "seed": chosen.seed}
    for method in METHODS:
        found = json.loads(
            regard(
                "evaluate",
                run,
                f"--source={chosen.gold / 'bicici-test.en'}",
                f"--target={chosen.gold / 'bicici-test.de'}",
                f"--alignments={chosen.gold / 'bicici-de-en.wa'}",
                "--gold-turned",
                f"--method={method}",
                "--json",
            )
        )
        results[method] = {each["name"]: each for each in found["scores"]}
        rate = results[method]["AER"]
        print(f"{method}: alignment error rate {rate['value']:.2f} [{rate['signature']}]")
    if chosen.output:
        chosen.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
