"""Positions past the trained length; which positions are similar; offsets as linear maps."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from regard.data.parallel import Parallel
from regard.drawing.charts import Lines
from regard.files import write_text
from regard.nn.position import PositionKind, Sinusoidal
from regard.studies.base import Check, Finding, Number, Study, above, below, difference, mean
from regard.studies.laboratory import Laboratory

KINDS: tuple[PositionKind, ...] = ("index", "sinusoidal", "learned", "shaw", "rotary")
SYMBOLS = tuple("abcdefgh")
SHORTEST, LONGEST = 4, 16
"""In training."""
LENGTHS = (8, 16, 24, 32, 48)
PAST = 32
"""The length by which kinds are compared: twice that of training."""
MOST = 50.0
"""Per cent. Positions reach as far as most tags are right, and fail where most are wrong."""
FIRST = "none"
"""The tag of a first symbol, which has none before it."""
SETTINGS = (
    *("tokenizer.kind=word", "tokenizer.vocabulary=50", "tokenizer.sampling=0"),
    *("batch.tokens=1024", "model.layers=2", "model.width=64", "model.inner=128", "model.heads=2"),
    *("model.dropout=0", "model.token_dropout=0", "model.max_length=64"),
    *("training.optimizer.rate=3e-3", "training.optimizer.warmup=50", "training.metric=loss"),
)
POSITIONS, OFFSET, FARTHEST = 256, 10, 64
EXACT = 1e-2
"""A map whose error is below a hundredth of what it maps is the offset, but for rounding."""


def sinusoids(width: int, count: int) -> Tensor:
    """(count, width)"""
    return Sinusoidal(width).add(torch.zeros(1, count, width), 0)[0]


def similarity(table: Tensor, offset: int) -> float:
    """The mean cosine of two positions of a table (N, D) that are this far apart."""
    unit = functional.normalize(table, dim=-1)
    return float((unit[offset:] * unit[:-offset]).sum(dim=-1).mean())


def map_error(table: Tensor, offset: int) -> float:
    """How badly one linear map takes every position of a table (N, D) to the one `offset` later.

    The map is fitted by least squares to every second position; its error on the others is
    relative to their size: 0 if the offset is a linear map, about 1 if nothing is.
    """
    before, after = table[:-offset].double(), table[offset:].double()
    fitted = torch.linalg.lstsq(before[::2], after[::2], driver="gelsd").solution
    return float((before[1::2] @ fitted - after[1::2]).norm() / after[1::2].norm())


def tags(symbols: Sequence[str]) -> list[str]:
    """Each symbol is tagged with the one before it."""
    return [FIRST, *symbols[:-1]]


def lines(count: int, shortest: int, longest: int, seed: str) -> list[list[str]]:
    draw = random.Random(seed)
    return [draw.choices(SYMBOLS, k=draw.randint(shortest, longest)) for _ in range(count)]


def right(outputs: Sequence[str], given: Sequence[Sequence[str]]) -> float:
    """The percentage of right tags; in lines longer than those of training, of the positions past
    the trained length only."""
    found = [
        ours == expected
        for output, symbols in zip(outputs, given, strict=True)
        for index, (ours, expected) in enumerate(zip(output.split(), tags(symbols), strict=True))
        if len(symbols) <= LONGEST or index >= LONGEST
    ]
    return 100 * sum(found) / len(found)


def scores(laboratory: Laboratory, kind: PositionKind) -> list[dict[int, float]]:
    """For each seed, the percentage of right tags by length of the line."""
    data = [_data(laboratory, part) for part in ("train", "valid")]
    tests = {n: lines(laboratory.effort(100, 4), n, n, f"test {n}") for n in LENGTHS}
    found = []
    for seed in laboratory.seeds:
        run = laboratory.trained(
            "tagger",
            data[0],
            data[1],
            laboratory.effort(500, 5),
            seed,
            [*SETTINGS, f"model.position={kind}"],
        )
        predictor = laboratory.predictor(run)
        found.append(
            {n: right(predictor([" ".join(x) for x in each]), each) for n, each in tests.items()}
        )
    return found


def _data(laboratory: Laboratory, part: str) -> Parallel:
    count = laboratory.effort(10_000, 200) if part == "train" else 100
    path = laboratory.scratch / f"before-{count}.{part}.tsv"
    if not path.exists():
        drawn = lines(count, SHORTEST, LONGEST, part)
        write_text(path, "".join(f"{' '.join(x)}\t{' '.join(tags(x))}\n" for x in drawn))
    return Parallel(pairs=path)


def measure(laboratory: Laboratory) -> Finding:
    table = sinusoids(64, POSITIONS)
    torch.manual_seed(1)
    unrelated = torch.randn_like(table)
    near = Number(similarity(table, 1))
    farther = Number(max(similarity(table, offset) for offset in range(2, FARTHEST + 1)))
    linear, none = (Number(map_error(each, OFFSET)) for each in (table, unrelated))
    found = {kind: scores(laboratory, kind) for kind in KINDS}
    at = {
        (kind, n): mean([each[n] for each in seeds], "%")
        for kind, seeds in found.items()
        for n in LENGTHS
    }
    shown = ", ".join(f"{at[kind, PAST].value:.0f} % ({kind})" for kind in KINDS)
    return Finding(
        f"In lines twice as long as those of training, a tagger finds the previous symbol at the "
        f"new positions in {shown}; at the trained length, the worst kind finds it in "
        f"{min(at[kind, LONGEST].value for kind in KINDS):.0f} %.",
        {
            **{f"right at {LONGEST}, {kind}": at[kind, LONGEST] for kind in KINDS},
            **{f"right past {LONGEST}, of {PAST}, {kind}": at[kind, PAST] for kind in KINDS},
            "cosine of neighbours, sinusoids": near,
            f"largest cosine 2 to {FARTHEST} apart, sinusoids": farther,
            f"error of the map of offset {OFFSET}, sinusoids": linear,
            f"error of the map of offset {OFFSET}, random vectors": none,
        },
        (
            above("neighbours are more similar than any positions farther apart", near, farther),
            below("an offset is a linear map of sinusoids", linear, EXACT),
            *_checks({kind: [each[PAST] for each in seeds] for kind, seeds in found.items()}),
        ),
        _charts(table, at),
    )


def _checks(past: dict[PositionKind, list[float]]) -> tuple[Check, ...]:
    """Of the percentages of right tags past the trained length."""
    gain = difference(past["sinusoidal"], past["index"], "%")
    return (
        below("the plain index fails past the trained length", mean(past["index"], "%"), MOST),
        below("learned positions fail there", mean(past["learned"], "%"), MOST),
        above("sinusoids reach past it", mean(past["sinusoidal"], "%"), MOST),
        above("they are right more often there than the plain index", gain, 0.0),
        above("relative positions (shaw) reach past it", mean(past["shaw"], "%"), MOST),
        above("relative positions (rotary) reach past it", mean(past["rotary"], "%"), MOST),
    )


def _charts(table: Tensor, at: dict[tuple[PositionKind, int], Number]) -> tuple[Lines, Lines]:
    return (
        Lines(
            "Right tags by length; in lines above 16, at the positions past 16",
            "symbols in the line",
            "per cent",
            {kind: [(float(n), at[kind, n].value) for n in LENGTHS] for kind in KINDS},
            level=100 / len(SYMBOLS),
        ),
        Lines(
            "Similarity of two positions (sinusoids)",
            "distance",
            "cosine",
            {"sinusoids": [(float(k), similarity(table, k)) for k in range(1, FARTHEST + 1)]},
        ),
    )


STUDY = Study(
    title="Positions past the trained length",
    claim="The plain index depends too much on the length of a line, and learned positions end "
    "with those that were trained. Sinusoids make nearby positions similar, turn an offset into a "
    "linear map, and so reach past the trained length, as relative positions do; but the notes "
    "disagree with each other, and one of them says that sinusoids do not really do so.",
    formula="e(t) = (sin w_k t, cos w_k t) for all k; e(t + o) = R(o) e(t), where R(o) turns each "
    "pair by w_k o",
    method="Taggers of two layers learn to name the symbol before each symbol of random lines of 4 "
    "to 16, with the plain index times a learned vector, sinusoids, learned vectors, relative "
    "(shaw) and rotary positions. Then they tag lines of up to 48, of which only positions past "
    "16 count; naming symbols at random is right in 12.5 %. Positions reach past the trained "
    "length if most tags of lines of 32 are right there, and fail if most are wrong. Of a "
    "table of sinusoids: the cosine of two positions by distance, and the error of one linear map, "
    "fitted to every second position, that takes each position to the one 10 later.",
    change="Add a kind of model.position to KINDS, or set LONGEST; map_error(table, offset) judges "
    "any table of positions.",
    meaning="That a linear map exists does not mean that training finds it: compare sinusoids "
    "below with the kinds that see distances only. If lines may be longer than those of training, "
    "use relative positions, or train on the lengths you will meet. The task needs nothing but the "
    "neighbour, so it shows where a kind must fail rather than how it does on text.",
    measure=measure,
)
