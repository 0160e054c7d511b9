"""Quadratic cost and its cures: from which length on each mixer is faster than full attention."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Optional

import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.drawing.charts import Lines
from regard.nn.blocks import BlockConfig, SelfLayer
from regard.nn.mixers import Looking, MixerSizes
from regard.nn.mixers.context import FullSequence
from regard.nn.probe import capture
from regard.studies.base import Finding, Number, Study, above, below, mean
from regard.studies.laboratory import Laboratory

FULL: Looking = "full"
CURES: tuple[Looking, ...] = ("window", "bigbird", "linformer", "linear")
WIDTH, INNER, HEADS = 64, 128, 2
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
ROUNDS = 5
"""Every round measures each mixer at each length once, so that a busy moment of the machine hits
neighbours, which are compared with each other."""

Rounds = list[float]


def build(kind: Looking, length: int, sizes: MixerSizes) -> SelfLayer:
    """One layer of an encoder."""
    torch.manual_seed(0)
    config = BlockConfig(
        width=WIDTH, inner=INNER, heads=HEADS, dropout=0.0, max_length=length, mixing=sizes
    )
    return SelfLayer(config, kind, 0)


def operations(kind: Looking, length: int, sizes: MixerSizes) -> int:
    """Of the matrix products of one forward pass, which no other program on the machine changes."""
    layer, sequence = build(kind, length, sizes), FullSequence(torch.ones(1, length).bool())
    fused = kind in ("full", "window", "bigbird")  # torch cannot count inside its fused kernel
    with capture(layer) if fused else nullcontext(), FlopCounterMode(display=False) as counter:
        layer(torch.randn(1, length, WIDTH), sequence)
    return counter.get_total_flops()


def seconds(layer: SelfLayer, length: int) -> float:
    """Of one forward and backward pass."""
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    sequence = FullSequence(torch.ones(1, length).bool())
    began = time.perf_counter()
    layer(x, sequence).sum().backward()
    return time.perf_counter() - began


def exponent(costs: Mapping[int, float]) -> float:
    """Of n in the cost, over the last two doublings."""
    lengths = sorted(costs)[-3:]
    return math.log(costs[lengths[-1]] / costs[lengths[0]]) / math.log(lengths[-1] / lengths[0])


def crossing(full: Mapping[int, float], other: Mapping[int, float]) -> Optional[float]:
    """The n above which `other` costs less, interpolated on logarithmic axes; None: at no length
    that was measured."""
    lengths = sorted(full)
    gaps = [math.log(other[n] / full[n]) for n in lengths]
    if gaps[-1] >= 0:
        return None
    slower = [index for index, gap in enumerate(gaps) if gap >= 0]
    if not slower:
        return float(lengths[0])
    last = slower[-1]
    part = gaps[last] / (gaps[last] - gaps[last + 1])
    return lengths[last] * (lengths[last + 1] / lengths[last]) ** part


def measure(laboratory: Laboratory) -> Finding:
    lengths = laboratory.effort(LENGTHS, (64, 128, 256))
    times = timed(laboratory, lengths)
    rounds = range(len(times[FULL][lengths[0]]))
    growth = {
        kind: mean([exponent({n: each[n][index] for n in lengths}) for index in rounds])
        for kind, each in times.items()
    }
    medians = {
        kind: {n: statistics.median(values) for n, values in each.items()}
        for kind, each in times.items()
    }
    crossings = {kind: crossing(medians[FULL], medians[kind]) for kind in CURES}
    ratios = {kind: [_ratio(times, kind, n) for n in (lengths[0], lengths[-1])] for kind in CURES}
    checks = [
        above("full attention grows as n²", growth[FULL], 1.5),
        *(below(f"{kind} grows more slowly", growth[kind], growth[FULL]) for kind in CURES),
        *(below(f"{kind} costs less at n = {lengths[-1]}", ratios[kind][1], 1.0) for kind in CURES),
        *(above(f"{kind} costs more at n = {lengths[0]}", ratios[kind][0], 1.0) for kind in CURES),
    ]
    known = {kind: n for kind, n in crossings.items() if n is not None}
    first = min(known, key=lambda kind: known[kind], default=FULL)
    return Finding(
        f"The time of full attention grows as n^{growth[FULL].value:.2f}; {first} is the first to "
        f"be faster, from about {known.get(first, math.inf):,.0f} positions."
        if known
        else f"Up to {lengths[-1]} positions no mixer is faster than full attention.",
        {
            **{f"exponent of n, {kind}": number for kind, number in growth.items()},
            **{f"faster than full from, {kind}": Number(n) for kind, n in known.items()},
            **{f"time at n = {lengths[-1]}, {kind} / full": ratios[kind][1] for kind in CURES},
            **_counted(lengths),
        },
        tuple(checks),
        _charts(medians, lengths),
    )


def timed(laboratory: Laboratory, lengths: Sequence[int]) -> dict[Looking, dict[int, Rounds]]:
    """Seconds of each mixer at each length, once per round."""
    sizes = MixerSizes()
    found: dict[Looking, dict[int, Rounds]] = {kind: {} for kind in (FULL, *CURES)}
    for length in lengths:
        laboratory.say(f"timing lines of {length:,} positions")
        layers = {kind: build(kind, length, sizes) for kind in found}
        for layer in layers.values():
            seconds(layer, length)  # the first pass allocates
        for _ in range(laboratory.effort(ROUNDS, 2)):
            for kind, layer in layers.items():
                repeats = 5 if length <= 1024 else 1
                best = min(seconds(layer, length) for _ in range(repeats))
                found[kind].setdefault(length, []).append(best)
    return found


def _ratio(times: Mapping[Looking, Mapping[int, Rounds]], kind: Looking, length: int) -> Number:
    pairs = zip(times[kind][length], times[FULL][length], strict=True)
    return mean([ours / full for ours, full in pairs])


def _counted(lengths: Sequence[int]) -> dict[str, Number]:
    """Where the operations cross: the same on every machine."""
    sizes, some = MixerSizes(), [n for n in lengths if n <= 2048]  # explicit weights are large
    counts = {kind: {n: float(operations(kind, n, sizes)) for n in some} for kind in (FULL, *CURES)}
    found = {kind: crossing(counts[FULL], counts[kind]) for kind in CURES}
    return {
        f"fewer operations from, {kind}": Number(n) for kind, n in found.items() if n is not None
    }


def _charts(
    medians: Mapping[Looking, Mapping[int, float]], lengths: Sequence[int]
) -> tuple[Lines, ...]:
    lines: dict[str, list[tuple[float, float]]] = {
        kind: [(float(n), each[n] / medians[FULL][n]) for n in lengths]
        for kind, each in medians.items()
    }
    return (
        Lines(
            "Time of one layer relative to full attention",
            "length n",
            "time / time of full",
            lines,
            log_x=True,
            log_y=True,
            level=1.0,
        ),
    )


STUDY = Study(
    title="Quadratic cost and its cures",
    claim="Attention between all pairs costs time that grows with the square of the length; "
    "looking at a window, at some blocks (BigBird), at a projection (Linformer) or at sums "
    "(linear attention) makes it linear. Since it is only matrix products, the square hardly "
    "matters for sentences.",
    formula="full: n² d; window: n w d; BigBird: n b d; Linformer: n k d; linear: n d²",
    method="One encoder layer of width 64 with two heads is timed, forward and backward, at "
    "lengths from 64 to 8,192, in five rounds that measure every mixer at a length right after "
    "each other. Only ratios and exponents are judged. The exponent is that of the last two "
    "doublings; a mixer crosses full attention where the ratio of the medians falls below 1. "
    "Operations of matrix products are counted as well.",
    change="MixerSizes(neighbourhood=...) and the other sizes move the crossings; `make "
    "bench-mixers` measures seconds and memory at the sizes of a real model.",
    meaning="For sentences keep full attention: it is exact and the fused kernel is fast. Beyond "
    'the crossing (hundreds to thousands of positions) set model.mixers to ["window"], '
    '["bigbird"], ["linformer"] or ["linear"], and check the score: all of them see less.',
    measure=measure,
    timed=True,
)
