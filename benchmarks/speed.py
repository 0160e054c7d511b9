"""Training and decoding beside the peers, in alternating runs; prints ratios with their spread.

python -m benchmarks.speed --data ../shared/data/multi30k [--rounds 3] [--output results.json]
    [--parts tiny base greedy beam]

Each measurement is a process of its own and the systems take turns, so that what else the machine
does falls on all of them; only the ratios mean anything.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.machine import peak_gigaflops
from benchmarks.workload import SIZES, prepare, targets

TRAINING = ["regard", "hugging_face", "plain_torch"]
DECODING = ["regard", "hugging_face", "ctranslate2"]
BEAMS = {"greedy": "1", "beam": "5"}


def measure(module: str, system: str, what: str, folder: Path, seconds: float) -> float:
    command = [sys.executable, "-m", f"benchmarks.{module}", system, what, str(folder)]
    done = subprocess.run([*command, str(seconds)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{system} failed:\n{done.stderr}")
    return float(done.stdout.split()[-1])


def compare(
    module: str, systems: list[str], what: str, folder: Path, seconds: float, rounds: int
) -> dict[str, list[float]]:
    """The speeds of each system, the systems by turns."""
    speeds: dict[str, list[float]] = {system: [] for system in systems}
    for _ in range(rounds):
        for system in systems:
            speeds[system].append(measure(module, system, what, folder, seconds))
    return speeds


def report(title: str, unit: str, speeds: dict[str, list[float]]) -> dict[str, object]:
    """Print our speed over each peer's, round by round."""
    ours = speeds["regard"]
    print(f"{title}: regard {median(ours):,.0f} {unit}")
    ratios = {}
    for system, theirs in speeds.items():
        if system != "regard":
            each = [mine / other for mine, other in zip(ours, theirs, strict=True)]
            ratios[system] = each
            print(
                f"  {median(each):5.2f} x {system} ({min(each):.2f} to {max(each):.2f}; "
                f"{median(theirs):,.0f} {unit})"
            )
    return {"unit": unit, "speeds": speeds, "ratios": ratios}


def training_flops(name: str, choices: int) -> float:
    """Floating point operations a target token, with a source token to each: 6 a weight used."""
    size = SIZES[name]
    attention, feed = 4 * size.width**2, 2 * size.width * size.inner
    layers = size.layers * (attention + feed) + size.layers * (2 * attention + feed)
    return 6.0 * (layers + choices * size.width)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--parts", nargs="+", choices=[*SIZES, *BEAMS], default=[*SIZES, *BEAMS])
    chosen = parser.parse_args()
    results: dict[str, object] = {"peak_gigaflops": peak_gigaflops()}
    print(f"peak of this machine: {results['peak_gigaflops']:.0f} GFLOP/s in float32")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        prepare(chosen.data, folder)
        print(f"our output has the {targets(folder):,} pieces of the target side")
        for size in [part for part in chosen.parts if part in SIZES]:
            seconds = chosen.seconds if size == "tiny" else 2 * chosen.seconds
            rounds = chosen.rounds if size == "tiny" else 1
            speeds = compare("train_one", TRAINING, size, folder, seconds, rounds)
            results[f"training {size}"] = report(f"training {size}", "tokens/s", speeds)
            share = median(speeds["regard"]) * training_flops(size, targets(folder)) / 1e9
            print(f"  {share / float(str(results['peak_gigaflops'])):.0%} of the peak")
        for name in [part for part in chosen.parts if part in BEAMS]:
            beam, seconds = BEAMS[name], chosen.seconds / 2
            speeds = compare("decode_one", DECODING, beam, folder, seconds, chosen.rounds)
            results[f"decoding beam {beam}"] = report(f"beam {beam}", "sentences/s", speeds)
    if chosen.output:
        chosen.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
