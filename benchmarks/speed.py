"""Training and decoding speed relative to other toolkits; prints ratios with their spread.

python -m benchmarks.speed --data ../shared/data/multi30k [--rounds 6] [--output results.json]
    [--parts tiny base greedy beam]

All systems of a comparison are started first. Then, in each round, one after the other does the
same few batches while the others are paused, so that other load on the machine affects all of them;
only the ratios are meaningful. Its memory layout makes a process some percent faster or slower for
its whole life, so most comparisons start their systems more than once.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Optional

from benchmarks.decode_one import SENTENCES
from benchmarks.machine import peak_gigaflops
from benchmarks.round_robin import System
from benchmarks.workload import SIZES, batches, prepare, targets

TRAINING = ["regard", "hugging_face", "plain_torch"]
DECODING = ["regard", "hugging_face", "ctranslate2"]


@dataclass(frozen=True)
class Comparison:
    """One comparison of all systems."""

    title: str
    units: int  # of work per system and round: batches, or passes over all sentences
    rounds: int  # after each start
    starts: int  # with new processes
    warm_up: int  # units before timing begins
    beam: Optional[int] = None  # None: training


COMPARISONS = {
    "tiny": Comparison("training tiny", units=3, rounds=6, starts=2, warm_up=3),
    "base": Comparison("training base", units=1, rounds=3, starts=1, warm_up=1),
    "greedy": Comparison("greedy", units=1, rounds=5, starts=3, warm_up=1, beam=1),
    "beam": Comparison("beam 5", units=1, rounds=4, starts=2, warm_up=1, beam=5),
}


def compare(name: str, comparison: Comparison, rounds: int, folder: Path) -> dict[str, list[float]]:
    """The speeds of each system, one per round."""
    if comparison.beam is None:
        module, what, systems = "benchmarks.train_one", name, TRAINING
        count = comparison.warm_up + rounds * comparison.units
        amounts = [batch.tokens for batch in batches(folder, count)]
    else:
        module, what, systems = "benchmarks.decode_one", str(comparison.beam), DECODING
        amounts = [SENTENCES] * (comparison.warm_up + rounds * comparison.units)
    speeds: dict[str, list[float]] = {system: [] for system in systems}
    for _ in range(comparison.starts):
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            running = {}
            for system in systems:
                running[system] = System(module, [system, what, str(folder)], scratch / system)
                stack.callback(running[system].kill)
                running[system].run(comparison.warm_up)
            for start in range(comparison.warm_up, len(amounts), comparison.units):
                amount = sum(amounts[start : start + comparison.units])
                for system in systems:
                    speeds[system].append(amount / running[system].run(comparison.units))
    return speeds


def report(title: str, unit: str, speeds: dict[str, list[float]]) -> dict[str, object]:
    """Print the ratio of our speed to that of each peer in the same round."""
    ours = speeds["regard"]
    print(f"{title}: regard {median(ours):,.0f} {unit}, {len(ours)} rounds")
    ratios = {}
    for system, theirs in speeds.items():
        if system != "regard":
            each = [mine / other for mine, other in zip(ours, theirs, strict=True)]
            ratios[system] = each
            low, _, high = quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3
            print(
                f"  {median(each):5.2f} x {system} (interquartile range {low:.2f} to {high:.2f}, "
                f"full range {min(each):.2f} to {max(each):.2f}; {median(theirs):,.0f} {unit})",
                flush=True,
            )
    return {"unit": unit, "speeds": speeds, "ratios": ratios}


def training_flops(name: str, choices: int) -> float:
    """FLOPs per target token and its source token: 6 per weight used."""
    size = SIZES[name]
    attention, feed = 4 * size.width**2, 2 * size.width * size.inner
    layers = size.layers * (attention + feed) + size.layers * (2 * attention + feed)
    return 6.0 * (layers + choices * size.width)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, help="rounds after each start")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--parts", nargs="+", choices=COMPARISONS, default=list(COMPARISONS))
    arguments = parser.parse_args()
    if not Path("/proc/self/task").exists():
        parser.error("pausing processes needs Linux's /proc, which this system does not have")
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        prepare(arguments.data, folder)
        print(f"our output layer has the {targets(folder):,} tokens of the target vocabulary")
        for name in arguments.parts:
            comparison, peak = COMPARISONS[name], peak_gigaflops()
            print(f"peak performance of this machine: {peak:.0f} GFLOP/s in float32", flush=True)
            speeds = compare(name, comparison, arguments.rounds or comparison.rounds, folder)
            unit = "tokens/s" if comparison.beam is None else "sentences/s"
            results[comparison.title] = {"peak": peak, **report(comparison.title, unit, speeds)}
            if comparison.beam is None:
                flops = median(speeds["regard"]) * training_flops(name, targets(folder))
                print(f"  {flops / 1e9 / peak:.0%} of peak performance", flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
