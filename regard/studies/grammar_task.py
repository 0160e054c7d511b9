"""The task that most studies share: small models that learn the built-in English-German grammar."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from regard.corpora import grammar
from regard.data.parallel import Parallel
from regard.runs.folder import Run
from regard.studies.laboratory import Laboratory, parallel

SETTINGS = (
    *("tokenizer.kind=word", "tokenizer.joint=false", "tokenizer.vocabulary=5000"),
    *("model.tying=target", "model.width=64", "model.dropout=0", "model.smoothing=0"),
    *("training.optimizer.kind=muon", "training.optimizer.rate=16e-3"),
    *("training.optimizer.warmup=100", "training.average.decay=0.99", "batch.tokens=1024"),
    *("training.metric=loss", "training.validation_lines=300"),
)
"""Whole words and Muon: learns in hundreds of steps what pieces and AdamW take thousands for."""

TRANSFORMER = ("model.layers=2", "model.inner=128", "model.heads=2", "training.dropout_start=1")
"""Of the recipe `tiny`; other recipes keep their own."""


class GrammarTask:
    """A corpus, and runs of any recipe on it that differ in a few settings."""

    def __init__(self, laboratory: Laboratory, pairs: int = 20_000, steps: int = 800) -> None:
        self.laboratory = laboratory
        self.pairs = laboratory.effort(pairs, 500)
        self.steps = laboratory.effort(steps, 8)

    @cached_property
    def test(self) -> list[grammar.Example]:
        """Sentences that no run has seen, with alignments and, in riddles, the right pronoun."""
        return grammar.generate(self.pairs).test[: self.laboratory.effort(500, 30)]

    def data(self, part: str) -> Parallel:
        return parallel(self.laboratory.corpus("grammar", self.pairs), part, "en", "de")

    def runs(self, settings: Sequence[str] = (), recipe: str = "tiny") -> list[Run]:
        """One for each seed; later settings replace earlier ones."""
        base = (*SETTINGS, *(TRANSFORMER if recipe == "tiny" else ()))
        return [
            self.laboratory.trained(
                recipe, self.data("train"), self.data("valid"), self.steps, seed, [*base, *settings]
            )
            for seed in self.laboratory.seeds
        ]

    def losses(self, settings: Sequence[str] = (), recipe: str = "tiny") -> list[float]:
        """The last validation loss per token of each run."""
        return [last_loss(run) for run in self.runs(settings, recipe)]

    def exact(self, settings: Sequence[str] = (), recipe: str = "tiny") -> list[float]:
        """The percentage of test sentences that each run translates exactly, by greedy search."""
        return [self.score(run) for run in self.runs(settings, recipe)]

    def score(self, run: Run) -> float:
        outputs = self.laboratory.predictor(run)([example.source for example in self.test])
        right = sum(a == b.target for a, b in zip(outputs, self.test, strict=True))
        return 100 * right / len(self.test)


def last_loss(run: Run) -> float:
    """Of the last validation, per token; a run whose loss is not finite has diverged."""
    losses = [record["loss"] for record in run.journal if record["event"] == "validation"]
    return float(losses[-1])
