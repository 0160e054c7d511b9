"""What `regard doctor` finds of damage that was put in on purpose, and what cleaning does to BLEU.

python -m benchmarks.doctor find --data ../shared/data [--output found.json]
python -m benchmarks.doctor shifts --data ../shared/data [--output shifts.json]
python -m benchmarks.doctor train --data ../shared/data --runs DIR [--steps 600]

`find` damages 20 % of three corpora, equally many pairs with each kind, and prints recall and false
alarms per kind: the share of the pairs with a kind of damage that are reported with it, and the
share of the pairs without any that are reported with it. `shifts` inserts, deletes or moves lines
and prints what is reported. `train` damages 20 % of Multi30k en-de, cleans it with
`regard doctor --clean`, and trains the recipe `multi30k` for the same number of steps on the
damaged, the cleaned and the original pairs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

from benchmarks.damage import Damaged, Pair, damage
from regard import Parallel
from regard.diagnosis.blocks import Block
from regard.diagnosis.examine import Examined, examine
from regard.diagnosis.held import Held
from regard.diagnosis.kinds import NAMES, Marks, names_of

SHARE = 0.2
CYRILLIC = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "абцдефгхийклмнопярстувшщызАБЦДЕФГХИЙКЛМНОПЯРСТУВШЩЫЗ",
)


class Recorder:
    """Keeps the kinds of every pair, where the cleaner would write it."""

    def __init__(self) -> None:
        self.kinds: list[list[str]] = []

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        pass

    def write(self, block: Block, marks: Marks) -> None:
        self.kinds += map(names_of, marks.tolist())


def read(path: Path) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as stream:
        return [line.rstrip("\n") for line in stream]


def beside(data: Path, source: str, target: str) -> list[Pair]:
    return list(zip(read(data / source), read(data / target), strict=True))


def columns(path: Path) -> list[Pair]:
    return [(cells[0], cells[1]) for cells in (line.split("\t") for line in read(path))]


def corpora(data: Path) -> dict[str, tuple[list[Pair], list[Pair]]]:
    """Training and validation pairs."""
    multi30k, english_japanese = data / "multi30k", data / "small-parallel-enja"
    tatoeba = columns(data / "tatoeba-en-de" / "train.tsv.gz")
    random.Random(1).shuffle(tatoeba)  # it is sorted by length; neighbours share their sources
    return {
        "Multi30k en-de": (
            beside(multi30k, "train.en.gz", "train.de.gz"),
            beside(multi30k, "val.en.gz", "val.de.gz"),
        ),
        "Tatoeba en-de": (tatoeba[:50_000], columns(data / "tatoeba-en-de" / "dev.tsv")),
        "small_parallel_enja": (
            beside(english_japanese, "train.en.gz", "train.ja.gz"),
            beside(english_japanese, "dev.en", "dev.ja"),
        ),
    }


def write(folder: Path, name: str, pairs: Sequence[Pair]) -> Parallel:
    """Two files of lines."""
    paths = [folder / f"{name}.{side}" for side in ("source", "target")]
    for side, path in enumerate(paths):
        path.write_bytes("".join(f"{pair[side]}\n" for pair in pairs).encode())
    return Parallel(*paths)


def examined(
    pairs: Sequence[Pair], validation: Sequence[Pair]
) -> tuple[Examined, list[list[str]], float]:
    """What the doctor says, the kinds of each pair, and its seconds."""
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write(folder, "train", pairs)
        began = time.process_time()
        held = [Held("valid", write(folder, "valid", validation).open("valid-"))]
        found = examine(data.open(), "text", (0, 1), held, recorder, lambda pairs: None)
    return found, recorder.kinds, time.process_time() - began


def find(data: Path) -> dict[str, Any]:
    """Recall and false alarms of every kind, by corpus."""
    french = read(data / "multi30k" / "train.fr.gz")
    foreign = {"language": french, "script": [line.translate(CYRILLIC) for line in french]}
    tables = {}
    for name, (clean, validation) in corpora(data).items():
        made = damage(clean, SHARE, foreign, validation)
        _, kinds, seconds = examined(made.pairs, validation)
        _, before, _ = examined(clean, validation)
        rows = rates(made, kinds, before)
        tables[name] = {"pairs": len(clean), "seconds": seconds, "kinds": rows}
        print(f"\n{name}, {len(clean):,} pairs, {seconds:.1f} s of one core")
        print("| kind | damaged | recall | reported at all | false alarms | in the original |")
        for kind, row in rows.items():
            values = (f"{100 * row[each]:.2f} %" for each in ("recall", "any", "false", "original"))
            print(f"| {kind} | {row['damaged']} | {' | '.join(values)} |", flush=True)
    return tables


def rates(
    made: Damaged, kinds: Sequence[list[str]], before: Sequence[list[str]]
) -> dict[str, dict[str, float]]:
    whole = set(range(len(kinds))) - {index for lines in made.lines.values() for index in lines}
    rows = {}
    for kind in NAMES:
        lines = made.lines.get(kind, [])
        if kind == "unusable":
            continue
        rows[kind] = {
            "damaged": len(lines),
            "recall": sum(kind in kinds[each] for each in lines) / max(1, len(lines)),
            "any": sum(bool(kinds[each]) for each in lines) / max(1, len(lines)),
            "false": sum(kind in kinds[each] for each in whole) / len(whole),
            "original": sum(kind in each for each in before) / len(before),
        }
    rows["any"] = {
        "damaged": len(kinds) - len(whole),
        "recall": sum(bool(kinds[i]) for i in range(len(kinds)) if i not in whole)
        / (len(kinds) - len(whole)),
        "any": 0.0,
        "false": sum(bool(kinds[each]) for each in whole) / len(whole),
        "original": sum(map(bool, before)) / len(before),
    }
    return rows


def shifts(data: Path) -> list[dict[str, Any]]:
    """Lines inserted, deleted and moved, and the stretches that are reported."""
    rows = []
    for name, (pairs, validation) in corpora(data).items():
        pairs = pairs[:30_000]
        sources, targets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        size = len(pairs)
        place = size // 2
        line = targets[place // 2]
        cases = {
            "inserted target": (sources, [*targets[:place], line, *targets[place:]]),
            "deleted target": (sources, targets[:place] + targets[place + 1 :]),
        }
        for what, sides in cases.items():
            found, _, _ = examined(list(zip(*sides, strict=False)), validation)
            rows.append(shift_row(name, f"{what} at line {place + 1:,}", found))
        block = size // 6
        moved = [*targets[:block], *targets[2 * block : 3 * block], *targets[block : 2 * block]]
        moved += targets[3 * block :]
        found, _, _ = examined(list(zip(sources, moved, strict=True)), validation)
        rows.append(shift_row(name, f"blocks {block + 1:,} to {3 * block:,} swapped", found))
    return rows


def shift_row(corpus: str, what: str, found: Examined) -> dict[str, Any]:
    stretches = [
        f"{each.first.rsplit(':', 1)[1]}-{each.last.rsplit(':', 1)[1]} by {each.shift}"
        for each in found.stretches
    ]
    print(f"| {corpus} | {what} | {', '.join(stretches) or 'nothing'} |", flush=True)
    return {"corpus": corpus, "change": what, "stretches": stretches}


def train(data: Path, runs: Path, steps: int) -> dict[str, Any]:
    """BLEU on test_2016 after training on damaged, cleaned and original pairs."""
    folder, multi30k = runs / "data", data / "multi30k"
    folder.mkdir(parents=True, exist_ok=True)
    clean = beside(multi30k, "train.en.gz", "train.de.gz")
    made = damage(clean, SHARE, {"language": read(multi30k / "train.fr.gz")})
    damaged = write(folder, "damaged", made.pairs)
    regard("doctor", *files(damaged), f"--clean={folder / 'cleaned'}")
    cleaned = Parallel(*(folder / "cleaned" / f"damaged.{side}" for side in ("source", "target")))
    test = Parallel(*(multi30k / f"test_2016_flickr.{side}.gz" for side in ("en", "de")))
    valid = [
        f"--valid-{side}={multi30k / f'val.{tag}.gz'}"
        for side, tag in (("source", "en"), ("target", "de"))
    ]
    data_of = {"original": write(folder, "original", clean), "damaged": damaged, "cleaned": cleaned}
    scores = {}
    for name, each in data_of.items():
        regard(
            "train",
            "multi30k",
            *files(each),
            *valid,
            f"--run={runs / name}",
            f"--steps={steps}",
            "--seed=1",
            "--set=training.processes=1",
        )
        scores[name] = json.loads(regard("evaluate", runs / name, *files(test), "--json"))
    for name in ("original", "cleaned"):
        print(regard("compare", runs / "damaged", runs / name, *files(test)))
    return scores


def files(data: Parallel) -> list[str]:
    return [f"--source={data.source}", f"--target={data.target}"]


def regard(*arguments: object) -> str:
    """Run a regard command on one core and return its standard output."""
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment
    ).stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["find", "shifts", "train"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "train":
        found: Any = train(arguments.data, arguments.runs, arguments.steps)
    else:
        found = (find if arguments.what == "find" else shifts)(arguments.data)
    if arguments.output:
        arguments.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
