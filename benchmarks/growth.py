"""How speed and memory scale with ten times the training pairs and ten times the input lines.

python -m benchmarks.growth --pairs ../shared/data/tatoeba-en-de/train.tsv.gz [--output FILE]

Trains `tiny` for a few steps on a tenth of the pairs and on all of them, and translates some lines
once and ten times over, each in its own process. Prints the ratios and the peak memory.
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
"""About twice the number of lines that are sorted at a time."""


def measure(*arguments: object) -> tuple[float, float]:
    """Seconds and peak memory in MB of a command, child processes included."""
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
    """Proportional set size (PSS) of a process and its descendants, in MB."""
    total = 0.0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total = float(line.split()[1]) / 1024
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # the process has just ended
        return total
    return total + sum(memory(int(child)) for child in children)


def speed(run: Path) -> float:
    """Median tokens per second in a run's journal, without the first two records."""
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    rates = [each["tokens_per_second"] for each in records if each["event"] == "train"]
    return median(rates[2:])


def training(lines: list[str], folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, part in (("a tenth", lines[::10]), ("all", lines)):
        file, run = folder / f"{len(part)}.tsv", folder / f"run-{len(part)}"
        file.write_text("".join(part), encoding="utf-8")
        _, peak = measure(
            *("train", "tiny", f"--pairs={file}", f"--run={run}", f"--steps={STEPS}"),
            *("--set", "tokenizer.sampling=0.05", "--set", "training.metric=loss"),
        )
        found[name] = {"pairs": len(part), "tokens_per_second": speed(run), "megabytes": peak}
        print(f"training on {len(part):,} pairs: {speed(run):,.0f} tokens/s, {peak:,.0f} MB")
    ratio = found["all"]["tokens_per_second"] / found["a tenth"]["tokens_per_second"]
    print(f"  {ratio:.2f} x the speed with 10 x the pairs")
    return {**found, "ratio": ratio}


def translating(lines: list[str], run: Path, folder: Path) -> dict[str, Any]:
    """Start-up time does not depend on the input: it is measured with one line and subtracted.

    The larger input repeats the same lines, so that the distribution of lengths is the same.
    """
    sources = [line.split("\t")[0] for line in lines[:LINES]]
    found: dict[str, Any] = {}
    for count, part in ((1, sources[:1]), (LINES, sources), (10 * LINES, 10 * sources)):
        file = folder / f"{count}.txt"
        file.write_text("\n".join(part) + "\n", encoding="utf-8")
        seconds, peak = measure(
            *("translate", run, "--beam=1", f"--input={file}", f"--output={folder / 'out'}")
        )
        found[str(count)] = {"seconds": seconds, "megabytes": peak}
        print(f"translating {count:,} lines: {seconds:.1f} s, {peak:,.0f} MB")
    start = found["1"]["seconds"]
    ratio = (found[str(10 * LINES)]["seconds"] - start) / (found[str(LINES)]["seconds"] - start)
    print(f"  {ratio:.1f} x the time for 10 x the lines")
    return {**found, "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with gzip.open(arguments.pairs, "rt", encoding="utf-8") as stream:
        lines = list(stream)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {"training": training(lines, folder)}
        results["translating"] = translating(lines, folder / f"run-{len(lines)}", folder)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
