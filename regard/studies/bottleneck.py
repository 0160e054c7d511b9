"""The bottleneck of one fixed vector: score by length, with and without attention."""

from __future__ import annotations

from regard.drawing.charts import Lines
from regard.studies.base import Finding, Study, above, below, difference, mean
from regard.studies.laboratory import Laboratory
from regard.studies.symbol_task import SymbolTask

VARIANTS = {
    "fixed vector": ("model.attention=none", "model.direction=forward", "model.layers=1"),
    "fixed vector, source reversed": (
        *("model.attention=none", "model.direction=backward", "model.layers=1"),
    ),
    "attention": (
        *("model.attention=after", "model.score=dot", "model.direction=forward", "model.layers=1"),
    ),
}
LENGTHS = (2, 4, 6, 8, 10, 12, 14, 16)
SHORT, LONG = 4, 16


def task(laboratory: Laboratory) -> SymbolTask:
    """Lines of 2 to 16 symbols; the study of the gradient's path looks into the same runs."""
    pairs, steps = laboratory.effort((20_000, 600), (300, 10))
    return SymbolTask(laboratory, LENGTHS[0], LENGTHS[-1], pairs, steps)


def measure(laboratory: Laboratory) -> Finding:
    symbols, lines = task(laboratory), laboratory.effort(100, 10)
    scores = {
        name: [
            {length: symbols.right(run, length, lines) for length in LENGTHS}
            for run in symbols.runs("lstm_attention", settings)
        ]
        for name, settings in VARIANTS.items()
    }
    at = {
        (name, length): [each[length] for each in of_seeds]
        for name, of_seeds in scores.items()
        for length in LENGTHS
    }
    fixed, turned, attention = VARIANTS
    drops = {name: difference(at[name, SHORT], at[name, LONG], "points") for name in VARIANTS}
    gain = difference(at[turned, LONG], at[fixed, LONG], "points")
    long = {name: mean(at[name, LONG], "%") for name in VARIANTS}
    return Finding(
        f"Of lines of {LONG} symbols, a fixed vector gets {long[fixed].value:.0f} % right, with "
        f"the source reversed {long[turned].value:.0f} %, and attention "
        f"{long[attention].value:.0f} %.",
        {
            **{f"right at {LONG}, {name}": number for name, number in long.items()},
            **{f"lost from {SHORT} to {LONG}, {name}": drop for name, drop in drops.items()},
            "gain by reversal": gain,
        },
        (
            above("a fixed vector loses with length", drops[fixed], 20.0),
            below("attention does not", drops[attention], 5.0),
            above("attention is better on long lines", long[attention], long[fixed]),
            above("reversing the source helps a fixed vector", gain, 0.0),
        ),
        (
            Lines(
                "Symbols that are right, by length of the line",
                "symbols in the line",
                "per cent",
                {name: [(n, mean(at[name, n]).value) for n in LENGTHS] for name in VARIANTS},
            ),
        ),
    )


STUDY = Study(
    title="The bottleneck of one fixed vector",
    claim="An encoder that hands over only its last state must squeeze the whole source into one "
    "vector, so its score falls with the length of the source; attention removes this limit. "
    "Without attention, reading the source backwards helps.",
    formula="fixed: c = h_S for all t; attention: c_t = sum over j of softmax_j(s_t · h_j) h_j",
    method="LSTMs of one layer and width 64 learn to write lines of 2 to 16 random symbols in "
    "another alphabet: nothing but the number of symbols makes a line difficult. They see the "
    "source through its last state, through the last state of reading it backwards, or through "
    "dot-product attention. The score is the percentage of symbols that greedy search writes in "
    "their position, for test lines of each length.",
    change="model.width is the size of the bottleneck: a wider vector holds more symbols, but the "
    "curve keeps falling. model.direction=both joins the last states of both directions.",
    meaning="For anything longer than a few words, do not pass a source through one vector. "
    "Reversing the source brings its first words nearer and takes its last ones farther away: "
    "measure it on your own data before you rely on it.",
    measure=measure,
)
