"""Training and decoding beside the peers, by turns; prints ratios with their spread.

python -m benchmarks.speed --data ../shared/data/multi30k [--rounds 6] [--output results.json]
    [--parts tiny base greedy beam]

All systems of a comparison are started first, then each does the same few batches in its turn
while the others stand still, so that what else the machine does falls on all of them; only the
ratios mean anything. Where its memory comes to lie makes a process some percent faster or slower
for its whole life, so all are started more than once.
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
from benchmarks.turns import Turns
from benchmarks.workload import SIZES, batches, prepare, targets

TRAINING = ["regard", "hugging_face", "plain_torch"]
DECODING = ["regard", "hugging_face", "ctranslate2"]


@dataclass(frozen=True)
class Part:
    """A comparison: pieces of work in a turn, and how often all systems have theirs."""

    title: str
    pieces: int
    rounds: int
    starts: int  # how often it is done with new processes
    warm_up: int  # pieces before the time counts
    beam: Optional[int] = None  # None: training


PARTS = {
    "tiny": Part("training tiny", pieces=3, rounds=6, starts=2, warm_up=3),
    "base": Part("training base", pieces=1, rounds=3, starts=1, warm_up=1),
    "greedy": Part("greedy", pieces=1, rounds=5, starts=3, warm_up=1, beam=1),
    "beam": Part("beam 5", pieces=1, rounds=4, starts=2, warm_up=1, beam=5),
}


def compare(name: str, part: Part, rounds: int, folder: Path) -> dict[str, list[float]]:
    """The speeds of each system, round by round."""
    if part.beam is None:
        module, what, systems = "benchmarks.train_one", name, TRAINING
        count = part.warm_up + rounds * part.pieces
        amounts = [batch.tokens for batch in batches(folder, count)]
    else:
        module, what, systems = "benchmarks.decode_one", str(part.beam), DECODING
        amounts = [SENTENCES] * (part.warm_up + rounds * part.pieces)
    speeds: dict[str, list[float]] = {system: [] for system in systems}
    for _ in range(part.starts):
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            turns = {}
            for system in systems:
                turns[system] = Turns(module, [system, what, str(folder)], scratch / system)
                stack.callback(turns[system].end)
                turns[system].take(part.warm_up)
            for start in range(part.warm_up, len(amounts), part.pieces):
                amount = sum(amounts[start : start + part.pieces])
                for system in systems:
                    speeds[system].append(amount / turns[system].take(part.pieces))
    return speeds


def report(title: str, unit: str, speeds: dict[str, list[float]]) -> dict[str, object]:
    """Print our speed over each peer's in the same round."""
    ours = speeds["regard"]
    print(f"{title}: regard {median(ours):,.0f} {unit}, {len(ours)} rounds")
    ratios = {}
    for system, theirs in speeds.items():
        if system != "regard":
            each = [mine / other for mine, other in zip(ours, theirs, strict=True)]
            ratios[system] = each
            low, _, high = quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3
            print(
                f"  {median(each):5.2f} x {system} (half of the rounds {low:.2f} to {high:.2f}, "
                f"all {min(each):.2f} to {max(each):.2f}; {median(theirs):,.0f} {unit})",
                flush=True,
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
    parser.add_argument("--rounds", type=int, help="after each start; by default as in PARTS")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    chosen = parser.parse_args()
    if not Path("/proc/self/task").exists():
        parser.error("processes are made to stand still as Linux can do it, and this is another")
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        prepare(chosen.data, folder)
        print(f"our output has the {targets(folder):,} pieces of the target side")
        for name in chosen.parts:
            part, peak = PARTS[name], peak_gigaflops()
            print(f"peak of this machine: {peak:.0f} GFLOP/s in float32", flush=True)
            speeds = compare(name, part, chosen.rounds or part.rounds, folder)
            unit = "tokens/s" if part.beam is None else "sentences/s"
            results[part.title] = {"peak": peak, **report(part.title, unit, speeds)}
            if part.beam is None:
                flops = median(speeds["regard"]) * training_flops(name, targets(folder))
                print(f"  {flops / 1e9 / peak:.0%} of the peak", flush=True)
    if chosen.output:
        chosen.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
