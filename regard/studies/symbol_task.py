"""A task in which nothing but length is difficult: the symbols of a line in another alphabet."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.parallel import Parallel
from regard.files import write_text
from regard.runs.folder import Run
from regard.studies.laboratory import Laboratory

SYMBOLS = 40
SETTINGS = (
    *("tokenizer.kind=word", "tokenizer.vocabulary=200", "tokenizer.sampling=0"),
    *("batch.tokens=1024", "model.width=64", "model.dropout=0", "model.smoothing=0"),
    *("training.optimizer.rate=5e-3", "training.optimizer.warmup=100"),
    *("training.average.decay=0.99", "training.metric=loss", "training.validation_lines=200"),
)


def draw(generator: random.Random, length: int) -> tuple[str, str]:
    """`a7 a1 a9` is `b7 b1 b9`; no symbol comes twice."""
    numbers = generator.sample(range(SYMBOLS), length)
    source, target = (" ".join(f"{side}{number}" for number in numbers) for side in "ab")
    return source, target


@dataclass(frozen=True)
class SymbolTask:
    """Lines of `shortest` to `longest` symbols, and runs of any recipe that learn them."""

    laboratory: Laboratory
    shortest: int
    longest: int
    pairs: int
    steps: int

    def lines(self, part: str, count: int, shortest: int, longest: int) -> list[tuple[str, str]]:
        """As many pairs of each length in turn, the same ones at every call."""
        generator = random.Random(f"{part} {shortest} {longest}")
        lengths = range(shortest, longest + 1)
        return [draw(generator, lengths[number % len(lengths)]) for number in range(count)]

    def data(self, part: str) -> Parallel:
        """A TSV file, written the first time it is asked for."""
        count = self.pairs if part == "train" else 200
        name = f"symbols-{self.shortest}-{self.longest}-{count}.{part}.tsv"
        path = self.laboratory.scratch / name
        if not path.exists():
            pairs = self.lines(part, count, self.shortest, self.longest)
            write_text(path, "".join(f"{source}\t{target}\n" for source, target in pairs))
        return Parallel(pairs=path)

    def runs(self, recipe: str, settings: Sequence[str]) -> list[Run]:
        """One for each seed."""
        return [
            self.laboratory.trained(
                recipe,
                self.data("train"),
                self.data("valid"),
                self.steps,
                seed,
                [*SETTINGS, *settings],
            )
            for seed in self.laboratory.seeds
        ]

    def right(self, run: Run, length: int, count: int) -> float:
        """The percentage of the symbols of test lines of this length that greedy search writes in
        their position."""
        pairs = self.lines("test", count, length, length)
        outputs = self.laboratory.predictor(run)([source for source, _ in pairs])
        found = [
            wrote == right
            for output, (_, target) in zip(outputs, pairs, strict=True)
            for wrote, right in zip(_padded(output.split(), length), target.split(), strict=True)
        ]
        return 100 * sum(found) / len(found)


def _padded(words: list[str], length: int) -> list[str]:
    return [*words, *[""] * length][:length]
