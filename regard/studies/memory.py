"""How far back each family remembers: copying lines of growing length."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.data.parallel import Parallel
from regard.drawing.charts import Lines
from regard.files import write_text
from regard.studies.base import Finding, Study, above, difference, mean
from regard.studies.laboratory import Laboratory

SYMBOLS = tuple("abcdefgh")
LONGEST = 12
"""In training."""
LENGTHS = (3, 6, 9, 12, 18, 24, 36)
LEVEL = 90.0
"""A family remembers a length if it copies this percentage of the symbols."""
COMMON = [
    *("tokenizer.kind=word", "tokenizer.vocabulary=100", "batch.tokens=512", "model.dropout=0"),
    *("training.average.kind=none", "training.metric=loss", "training.optimizer.warmup=50"),
]
PLAIN = [
    *("model.attention=none", "model.layers=1", "model.width=96", "model.direction=forward"),
    *("model.smoothing=0", "training.optimizer.rate=5e-3"),
]
FAMILIES: dict[str, tuple[str, list[str]]] = {
    "tanh": ("rnn_plain", [*PLAIN, "model.cell=rnn"]),
    "LSTM": ("rnn_plain", [*PLAIN, "model.cell=lstm"]),
    "Transformer": (
        "tiny",
        [
            *("model.layers=2", "model.width=64", "model.inner=128", "model.heads=2"),
            *("model.smoothing=0", "training.optimizer.rate=3e-3"),
        ],
    ),
    "Turing machine": ("turing", ["model.slots=64", "training.optimizer.rate=1e-2"]),
}

Shares = list[list[tuple[int, float]]]
"""Of each seed: lengths, and the percentage of symbols that is remembered."""


def lines(count: int, shortest: int, longest: int, seed: str) -> list[str]:
    draw = random.Random(seed)
    return [
        " ".join(draw.choices(SYMBOLS, k=draw.randint(shortest, longest))) for _ in range(count)
    ]


def remembered(outputs: Sequence[str], given: Sequence[str]) -> float:
    """The percentage of symbols that are copied to where they belong."""
    right = total = 0
    for output, line in zip(outputs, given, strict=True):
        ours, theirs = output.split(), line.split()
        right += sum(a == b for a, b in zip(ours, theirs, strict=False))
        total += len(theirs)
    return 100 * right / total


def span(shares: Sequence[tuple[int, float]]) -> float:
    """The longest length up to which every one is remembered; 0 if none is."""
    found = 0.0
    for length, part in shares:
        if part < LEVEL:
            break
        found = float(length)
    return found


def measure(laboratory: Laboratory) -> Finding:
    data = _data(laboratory)
    lengths = laboratory.effort(LENGTHS, LENGTHS[:3])
    tests = {n: lines(laboratory.effort(100, 10), n, n, f"test {n}") for n in lengths}
    shares: dict[str, Shares] = {}
    for name, (recipe, settings) in FAMILIES.items():
        shares[name] = []
        for seed in laboratory.seeds:
            run = laboratory.trained(
                recipe, *data, laboratory.effort(800, 10), seed, [*COMMON, *settings]
            )
            predictor = laboratory.predictor(run)
            found = [(n, remembered(predictor(list(each)), each)) for n, each in tests.items()]
            shares[name].append(found)
    spans = {name: [span(each) for each in seeds] for name, seeds in shares.items()}
    numbers = {name: mean(each, "symbols") for name, each in spans.items()}
    beyond = mean(spans["Turing machine"], "symbols")
    each_seed = ", ".join(f"{length:.0f}" for length in spans["Turing machine"])
    return Finding(
        f"A tanh network copies {numbers['tanh'].value:.0f} symbols, an LSTM "
        f"{numbers['LSTM'].value:.0f}, a Transformer {numbers['Transformer'].value:.0f} and a "
        f"Turing machine {numbers['Turing machine'].value:.0f} (by seed: {each_seed}); training "
        f"had up to {LONGEST}.",
        {f"memory span, {name}": number for name, number in numbers.items()},
        (
            above(
                "an LSTM remembers more than tanh",
                difference(spans["LSTM"], spans["tanh"], "symbols"),
                0.0,
            ),
            above(
                "attention remembers more than an LSTM",
                difference(spans["Transformer"], spans["LSTM"], "symbols"),
                0.0,
            ),
            above("a Turing machine remembers more than it was trained on", beyond, float(LONGEST)),
        ),
        _charts(shares, lengths),
    )


def _charts(shares: Mapping[str, Shares], lengths: Sequence[int]) -> tuple[Lines]:
    """The mean over seeds at each length."""
    return (
        Lines(
            "Symbols copied to the right position",
            "length of the line",
            "per cent",
            {
                name: [
                    (float(n), mean([each[index][1] for each in seeds]).value)
                    for index, n in enumerate(lengths)
                ]
                for name, seeds in shares.items()
            },
            level=LEVEL,
        ),
    )


def _data(laboratory: Laboratory) -> tuple[Parallel, Parallel]:
    found = []
    for part, count in (("train", laboratory.effort(20_000, 200)), ("valid", 100)):
        path: Path = laboratory.scratch / f"copied-{count}.{part}"
        if not path.exists():
            write_text(path, "".join(f"{each}\n" for each in lines(count, 1, LONGEST, part)))
        found.append(Parallel(path, path))
    return found[0], found[1]


STUDY = Study(
    title="How far back each family remembers",
    claim="A plain recurrent network hardly remembers, an LSTM has a short-term memory, and a "
    "long-term memory needs something else: attention, or a memory that is read and written, as "
    "in the Neural Turing Machine.",
    formula="copy: y_t = x_t for t = 1 .. n; memory span = longest n with 90 % of the symbols "
    "right",
    method="Recurrent networks without attention (one tanh or LSTM layer of width 96), a "
    "Transformer and a Neural Turing Machine learn for 800 steps to copy lines of 1 to 12 random "
    "symbols out of 8. Then they copy lines of up to 36. Every symbol has to be kept until it is "
    "written.",
    change="FAMILIES has the settings of each; `regard corpus copy` writes the task of the paper "
    "with 256 symbols, on which the turing recipe is right beyond 100.",
    meaning="State of fixed size is a budget: however long you train, it holds so many symbols. "
    "Attention keeps everything but only at positions like those it has seen; a machine that "
    "moves step by step generalises to longer lines, and is harder to train: "
    "with some seeds it may not have learned at all in the same number of steps, so look at each "
    "seed and not at the mean.",
    measure=measure,
)
