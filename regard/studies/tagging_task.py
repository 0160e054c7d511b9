"""A task for taggers: for each word of the built-in grammar, on which side its head is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from regard.corpora import grammar
from regard.data.parallel import Parallel
from regard.files import write_text
from regard.studies.laboratory import Laboratory

SETTINGS = (
    *("tokenizer.kind=word", "tokenizer.sampling=0", "batch.tokens=1024"),
    *("model.layers=2", "model.width=32", "model.inner=64", "model.heads=2"),
    *("model.dropout=0", "model.token_dropout=0", "training.optimizer.warmup=50"),
    "training.metric=loss",
)


class TaggingTask:
    """The words of English sentences, each tagged with root, before or after."""

    def __init__(self, laboratory: Laboratory, pairs: int = 4000, steps: int = 250) -> None:
        self.laboratory = laboratory
        self.pairs = laboratory.effort(pairs, 200)
        self.steps = laboratory.effort(steps, 8)

    @cached_property
    def files(self) -> dict[str, Path]:
        """A TSV file for each part, written the first time it is asked for."""
        found = {
            part: self.laboratory.scratch / f"heads-{self.pairs}.{part}.tsv"
            for part in ("train", "valid", "test")
        }
        if not found["test"].exists():
            corpus = grammar.generate(self.pairs, held_out=self.laboratory.effort(500, 50))
            for part, path in found.items():
                examples: list[grammar.Example] = getattr(corpus, part)
                lines = [f"{each.source}\t{' '.join(tags(each))}\n" for each in examples]
                write_text(path, "".join(lines))
        return found

    def accuracies(self, settings: Sequence[str]) -> list[float]:
        """The percentage of test words that get the right tag, for each seed."""
        pairs = [line.split("\t") for line in self.files["test"].read_text().splitlines()]
        found = []
        for seed in self.laboratory.seeds:
            run = self.laboratory.trained(
                "tagger",
                Parallel(pairs=self.files["train"]),
                Parallel(pairs=self.files["valid"]),
                self.steps,
                seed,
                [*SETTINGS, *settings],
            )
            outputs = self.laboratory.predictor(run)([source for source, _ in pairs])
            words = [
                (ours, right)
                for output, (_, target) in zip(outputs, pairs, strict=True)
                for ours, right in zip(output.split(), target.split(), strict=True)
            ]
            found.append(100 * sum(ours == right for ours, right in words) / len(words))
        return found


def tags(example: grammar.Example) -> list[str]:
    """Where the head of each word is: before it, after it, or nowhere."""
    return [
        "root" if head == 0 else "before" if head < word else "after"
        for word, head in enumerate(example.tree, 1)
    ]
