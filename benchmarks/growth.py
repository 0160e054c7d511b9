"""Does cost grow in proportion? Ten times the pairs, ten times the lines.

python -m benchmarks.growth --pairs ../shared/data/tatoeba-en-de/train.tsv.gz [--output FILE]

Trains `tiny` for a few steps on a tenth of the pairs and on all of them, and translates some lines
once and ten times over, each in a process of its own; prints the ratios and the peak of memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

STEPS = 150
LINES = 16_000
"""About two of the windows that are sorted at a time."""


def measured(*arguments: object) -> tuple[float, float]:
    """Seconds and peak memory in MB of a command, its processes together."""
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    return time.perf_counter() - began, peak


def memory(pid: int) -> float:
    """MB that a process and its children have for themselves, and their share of the rest."""
    total = 0.0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total = float(line.split()[1]) / 1024
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has just ended
        return total
    return total + sum(memory(int(child)) for child in children)


def speed(run: Path) -> float:
    """The median of the tokens a second in a run's journal, without the first steps."""
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    rates = [each["tokens_per_second"] for each in records if each["event"] == "train"]
    return median(rates[2:])


def training(lines: list[str], folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, part in (("a tenth", lines[::10]), ("all", lines)):
        file, run = folder / f"{len(part)}.tsv", folder / f"run-{len(part)}"
        file.write_text("".join(part), encoding="utf-8")
        _, peak = measured(
            *("train", "tiny", f"--pairs={file}", f"--run={run}", f"--steps={STEPS}"),
            *("--set", "tokenizer.sampling=0.05", "--set", "training.metric=loss"),
        )
        found[name] = {"pairs": len(part), "tokens_per_second": speed(run), "megabytes": peak}
        print(f"training on {len(part):,} pairs: {speed(run):,.0f} tokens/s, {peak:,.0f} MB")
    ratio = found["all"]["tokens_per_second"] / found["a tenth"]["tokens_per_second"]
    print(f"  {ratio:.2f} times the speed on {found['all']['pairs']:,} pairs")
    return {**found, "ratio": ratio}


def translating(lines: list[str], run: Path, folder: Path) -> dict[str, Any]:
    """Starting takes the same time for any input: it is measured with one line and left out.

    Ten times as many are the same lines ten times, so that none is longer than before.
    """
    sources = [line.split("\t")[0] for line in lines[:LINES]]
    found: dict[str, Any] = {}
    for count, part in ((1, sources[:1]), (LINES, sources), (10 * LINES, 10 * sources)):
        file = folder / f"{count}.txt"
        file.write_text("\n".join(part) + "\n", encoding="utf-8")
        seconds, peak = measured(
            *("translate", run, "--beam=1", f"--input={file}", f"--output={folder / 'out'}")
        )
        found[str(count)] = {"seconds": seconds, "megabytes": peak}
        print(f"translating {count:,} lines: {seconds:.1f} s, {peak:,.0f} MB")
    start = found["1"]["seconds"]
    ratio = (found[str(10 * LINES)]["seconds"] - start) / (found[str(LINES)]["seconds"] - start)
    print(f"  {ratio:.1f} times the time for 10 times the lines")
    return {**found, "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    with gzip.open(chosen.pairs, "rt", encoding="utf-8") as stream:
        lines = list(stream)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {"training": training(lines, folder)}
        results["translating"] = translating(lines, folder / f"run-{len(lines)}", folder)
    if chosen.output:
        chosen.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
