"""How time and memory of the mixers grow with sequence length.

python -m benchmarks.mixers [--lengths 256,1024,4096] [--output FILE.json] [--figure FILE.svg]

Forward and backward pass of one encoder layer over one sequence of n positions, some of them
padding; every mixer and n in its own process. Prints seconds, peak memory, the exponent of growth
(the slope of log time against log n), and the n above which a mixer is faster than full attention.
"full" is the fused kernel; "explicit" computes the same and materialises all weights.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from regard.drawing.curves import save_curves
from regard.nn.blocks import BlockConfig, SelfLayer
from regard.nn.mixers.context import FullSequence
from regard.nn.probe import capture

KINDS = ("full", "explicit", "window", "bigbird", "linear", "linformer")
WIDTH, INNER, HEADS = 128, 256, 4
LENGTHS = tuple(2**power for power in range(8, 15))
SECONDS = 2.0
"""Each measurement is repeated for at least this long and three times; the best one counts."""

Point = dict[str, float]


def measure(kind: str, length: int) -> Point:
    """Seconds of a forward and backward pass, and its peak memory beyond that of the layer."""
    torch.manual_seed(0)
    config = BlockConfig(width=WIDTH, inner=INNER, heads=HEADS, dropout=0.0, max_length=length)
    mixer: Any = "full" if kind == "explicit" else kind
    layer = SelfLayer(config, mixer, 0)
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    real = torch.arange(length)[None] < length - length // 16
    before = peak()
    times: list[float] = []
    while len(times) < 3 or sum(times) < SECONDS:
        began = time.perf_counter()
        with capture(layer) if kind == "explicit" else contextlib.nullcontext():
            layer(x, FullSequence(real)).sum().backward()
        times.append(time.perf_counter() - began)
    return {"seconds": min(times), "megabytes": peak() - before}


def peak() -> float:
    """Peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def too_large(kind: str, length: int, gigabytes: float) -> bool:
    """Whether scores, weights and gradients, each (H, n, n), would exceed the limit."""
    return kind == "explicit" and 5 * 4 * HEADS * length**2 > gigabytes * 2**30


def in_own_process(kind: str, length: int) -> Point:
    command = [sys.executable, "-m", "benchmarks.mixers", "--one", kind, "--lengths", str(length)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    point: Point = json.loads(found.stdout)
    return point


def exponent(times: dict[int, float]) -> float:
    """Slope of log time against log n over the longer half, where constant costs matter less."""
    chosen = sorted(times)[len(times) // 2 :] if len(times) > 3 else sorted(times)
    if len(chosen) < 2:
        return math.nan
    xs, ys = [math.log(n) for n in chosen], [math.log(times[n]) for n in chosen]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    rise = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return rise / sum((a - x) ** 2 for a in xs)


def crossing(full: dict[int, float], other: dict[int, float]) -> float | None:
    """The n above which `other` is faster, interpolated on logarithmic axes."""
    shared = sorted(full.keys() & other.keys())
    ahead = [math.log(other[n] / full[n]) for n in shared]
    if not shared or ahead[-1] >= 0:
        return None
    slower = [number for number, gap in enumerate(ahead) if gap >= 0]
    if not slower:
        return float(shared[0])
    i = slower[-1]
    share = ahead[i] / (ahead[i] - ahead[i + 1])
    return float(shared[i] * (shared[i + 1] / shared[i]) ** share)


def draw(measured: dict[str, dict[int, Point]], path: Path) -> None:
    """Seconds and megabytes over n, both axes logarithmic."""
    curves = {
        f"{name} per pass over n positions": {
            kind: [(n, max(point[name], least)) for n, point in sorted(points.items())]
            for kind, points in measured.items()
        }
        for name, least in (("seconds", 1e-9), ("megabytes", 1.0))
    }
    save_curves(path, curves, "n", log_scale=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--gigabytes", type=float, default=6.0, help="skip what needs more")
    parser.add_argument("--one", choices=KINDS, help="measure this mixer here, print JSON")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--figure", type=Path)
    chosen = parser.parse_args()
    lengths = [int(text) for text in chosen.lengths.split(",")]
    if chosen.one:
        print(json.dumps(measure(chosen.one, lengths[0])))
        return
    measured: dict[str, dict[int, Point]] = {kind: {} for kind in KINDS}
    for length in lengths:
        for kind in KINDS:
            if too_large(kind, length, chosen.gigabytes):
                continue
            point = measured[kind][length] = in_own_process(kind, length)
            print(f"{length:6} {kind:10} {point['seconds']:9.4f} s {point['megabytes']:8.0f} MB")
    times = {
        kind: {n: point["seconds"] for n, point in points.items()}
        for kind, points in measured.items()
    }
    growth = {kind: exponent(times[kind]) for kind in KINDS}
    ahead = {kind: crossing(times["full"], times[kind]) for kind in KINDS if kind != "full"}
    for kind in KINDS:
        faster = ahead.get(kind)
        text = f", faster than full above n = {faster:.0f}" if faster else ""
        print(f"{kind:10} time grows as n^{growth[kind]:.2f}{text}")
    if chosen.output:
        facts = {"width": WIDTH, "inner": INNER, "heads": HEADS, "threads": torch.get_num_threads()}
        results = {**facts, "measured": measured, "exponent": growth, "crossing": ahead}
        chosen.output.write_text(json.dumps(results, indent=1) + "\n")
    if chosen.figure:
        draw(measured, chosen.figure)


if __name__ == "__main__":
    main()
