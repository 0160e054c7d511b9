"""Lines in, predictions out: in order, batched, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Optional, Union, overload

import torch

from regard.data.batch import EOS, Batch, Padded
from regard.data.tokenizer import Tokenizers
from regard.models.base import Model
from regard.problem import Misuse
from regard.search.rules import Hypothesis, Search

WINDOW = 8192
"""Lines read ahead and sorted by length, so that a batch holds lines of like length."""


@dataclass(frozen=True)
class Choice:
    """One target of an n-best list."""

    text: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class Prediction:
    """What became of one line; an empty line becomes an empty line."""

    text: str
    best: tuple[Choice, ...] = ()


class Predictor:
    """A trained model with its tokenizers: text to text."""

    def __init__(
        self,
        model: Model,
        tokenizers: Tokenizers,
        search: Search,
        batch_tokens: int = 4096,
        longest: int = 1000,
    ) -> None:
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.search = search
        self.batch_tokens = batch_tokens
        self.longest = longest
        self.cut = 0  # lines of which only the first `longest` pieces were read

    @overload  # a str is a sequence too, but this comes first
    def __call__(self, text: str) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, text: Sequence[str]) -> list[str]: ...
    def __call__(self, text: Union[str, Sequence[str]]) -> Union[str, list[str]]:
        """A sentence to its translation, or a list of them to a list."""
        if isinstance(text, str):
            return next(self.predict([text])).text
        return [prediction.text for prediction in self.predict(text)]

    def predict(
        self, lines: Iterable[str], prefixes: Optional[Iterable[str]] = None
    ) -> Iterator[Prediction]:
        """One prediction a line, in order; with prefixes, each target begins with its own."""
        stream = iter(lines)
        begun = iter(prefixes) if prefixes is not None else None
        while window := list(islice(stream, WINDOW)):
            forced = list(islice(begun, len(window))) if begun is not None else None
            if forced is not None and len(forced) < len(window):
                raise Misuse("There are fewer prefixes than lines: give one a line, empty or not.")
            yield from self._window(window, forced)
        if begun is not None and next(begun, None) is not None:
            raise Misuse("There are more prefixes than lines: give one a line, empty or not.")

    def _window(self, lines: list[str], prefixes: Optional[list[str]]) -> Iterator[Prediction]:
        rows = self._encode(lines)
        forced = self.tokenizers.target.encode(prefixes) if prefixes is not None else None
        found: list[Prediction] = [Prediction("") for _ in lines]
        for group in self._groups(rows):
            source = Padded.of([rows[index] for index in group])
            prefix = Padded.of([forced[index] for index in group]) if forced is not None else None
            results = self.model.generate(source, self.search, prefix)
            for index, hypotheses in zip(group, results, strict=True):
                found[index] = self._prediction(hypotheses)
        yield from found

    def _encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Source ids with EOS, empty for a line without text."""
        rows = self._cut(self.tokenizers.source.encode([line.strip() for line in lines]))
        return [[*row, EOS] if row else [] for row in rows]

    def _cut(self, rows: list[list[int]]) -> list[list[int]]:
        """The first `longest` ids of each row; how many had more is counted."""
        self.cut += sum(len(row) > self.longest for row in rows)
        return [row[: self.longest] for row in rows]

    def _groups(self, rows: list[list[int]]) -> Iterator[list[int]]:
        """Row numbers that go together: longest first, within the budget of tokens."""
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: -len(rows[i]))
        start = 0
        while start < len(order):
            count = max(1, self.batch_tokens // len(rows[order[start]]))
            yield order[start : start + count]
            start += count

    def _prediction(self, hypotheses: list[Hypothesis]) -> Prediction:
        best = tuple(
            Choice(self.tokenizers.target.decode(each.tokens), each.score, each.log_probability)
            for each in hypotheses
        )
        return Prediction(best[0].text, best)

    @torch.inference_mode()
    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[float, int]]:
        """log p(target | source) of each pair and its number of tokens, in order."""
        stream = iter(pairs)
        while window := list(islice(stream, WINDOW)):
            sources = self._cut(self.tokenizers.source.encode([source for source, _ in window]))
            targets = self._cut(self.tokenizers.target.encode([target for _, target in window]))
            found = [(0.0, 0)] * len(window)
            lengths = [[*s, *t, EOS] for s, t in zip(sources, targets, strict=True)]
            for group in self._groups(lengths):
                batch = Batch(
                    Padded.of([[*sources[i], EOS] for i in group]),
                    Padded.of([[*targets[i], EOS] for i in group]),
                )
                totals = self.model.log_probabilities(batch).sum(dim=1).tolist()
                for i, total in zip(group, totals, strict=True):
                    found[i] = (total, len(targets[i]) + 1)
            yield from found
