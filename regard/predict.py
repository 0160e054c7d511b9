"""Lines in, predictions out: in order, batched, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random
from typing import Any, NamedTuple, Optional, Union, overload

import torch

from regard.data.batch import EOS, Batch, Padded
from regard.data.tokenizers import Tokenizers
from regard.data.trees import (
    Heads,
    check_tree,
    cut_heads,
    encode_trees,
    must_fit,
)
from regard.errors import UsageError
from regard.models.base import Model
from regard.processes.pool import worker_map
from regard.search.base import Hypothesis, Search
from regard.search.sample import Sample

WINDOW = 8192
"""Lines read ahead and sorted by length, so that a batch holds lines of like length."""


BATCH_TOKENS = 2048
"""Source tokens translated together: enough rows to keep a core busy, few enough for its cache."""

MANY = 128
"""Lines from which on starting other processes pays."""

Rows = list[list[int]]


class Task(NamedTuple):
    """What is translated together: the number of its first line, sources with the heads of their
    pieces, and what the targets begin with."""

    number: int
    sources: Rows
    heads: Optional[Rows]
    prefixes: Optional[Rows]


Generate = Callable[[Iterable[Task]], Iterable[list[list[Hypothesis]]]]


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
    best: tuple[Choice, ...]


EMPTY = Prediction("", (Choice("", 0.0, 0.0),))


class Predictor:
    """A trained model with its tokenizers: text to text.

    A model that reads dependency trees is given the heads of each line's words with the line.
    A language model goes on from each line, and from an empty one begins by itself.
    """

    def __init__(
        self,
        model: Model,
        tokenizers: Tokenizers,
        search: Search,
        batch_tokens: int = BATCH_TOKENS,
        length_limit: int = 1000,
        workers: int = 1,
        reads_heads: bool = False,
    ) -> None:
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.search = search
        self.batch_tokens = batch_tokens
        most = model.length_limit
        self.length_limit = length_limit if most is None else min(length_limit, most - 1)
        self.workers = workers
        self.reads_heads = reads_heads
        self.cut = 0  # lines of which only the first `length_limit` pieces were read

    @overload
    def __call__(self, text: str, heads: Optional[Heads] = None) -> str: ...
    @overload
    def __call__(self, text: list[str], heads: Optional[Sequence[Heads]] = None) -> list[str]: ...
    def __call__(self, text: Any, heads: Any = None) -> Union[str, list[str]]:
        """A sentence to its translation, or a list of them to a list."""
        if isinstance(text, str):
            return next(self.predict([text], heads=None if heads is None else [heads])).text
        return [prediction.text for prediction in self.predict(text, heads=heads)]

    def predict(
        self,
        lines: Iterable[str],
        prefixes: Optional[Iterable[str]] = None,
        window_size: int = WINDOW,
        heads: Optional[Iterable[Heads]] = None,
    ) -> Iterator[Prediction]:
        """One prediction a line, in order; with prefixes, each target begins with its own.

        Predictions come after `window_size` lines or at the end of the input. `heads` has a number
        for each word of each line: k for the k-th word, 0 for a root.
        """
        must_fit(self.reads_heads, heads is not None, "heads")
        stream, first = iter(lines), 0
        begun = iter(prefixes) if prefixes is not None else None
        trees = iter(heads) if heads is not None else None
        with ExitStack() as stack:
            generate: Generate = partial(map, self._generate)
            workers = 1
            while window := list(islice(stream, window_size)):
                forced = list(islice(begun, len(window))) if begun is not None else None
                if forced is not None and len(forced) < len(window):
                    raise UsageError("There are fewer prefixes than lines: give one a line each.")
                if workers < self.workers and len(window) >= MANY:
                    workers = self.workers
                    generate = stack.enter_context(worker_map(self._generate, workers))
                beside = self._beside(window, trees, first)
                yield from self._window(first, window, beside, forced, generate, workers)
                first += len(window)
        if begun is not None and next(begun, None) is not None:
            raise UsageError("There are more prefixes than lines: give one a line each.")
        if trees is not None and next(trees, None) is not None:
            raise UsageError("There are more trees than lines: give one a line each.")

    def _beside(
        self, lines: Sequence[str], trees: Optional[Iterator[Heads]], first: int
    ) -> Optional[list[Heads]]:
        """The heads of these lines, the first of which is line `first` of all, counted from 0."""
        if trees is None:
            return None
        heads = list(islice(trees, len(lines)))
        if len(heads) < len(lines):
            raise UsageError("There are fewer trees than lines: give one a line each.")
        for number, (line, tree) in enumerate(zip(lines, heads, strict=True), first + 1):
            check_tree(tree, len(line.split()), f"Line {number}")
        return heads

    def _window(
        self,
        first: int,
        lines: list[str],
        heads: Optional[list[Heads]],
        prefixes: Optional[list[str]],
        generate: Generate,
        workers: int,
    ) -> Iterator[Prediction]:
        rows, trees, forced = self._sides(lines, heads, prefixes)
        self._must_have_room(forced or [], first)
        found = [EMPTY for _ in lines]
        sampling = isinstance(self.search, Sample)  # draws follow from how lines are grouped
        groups = list(self._groups(rows, 1 if sampling else workers))
        tasks = (
            Task(
                first + group[0],
                [rows[i] for i in group],
                _some(trees, group),
                _some(forced, group),
            )
            for group in groups
        )
        for group, results in zip(groups, generate(tasks), strict=True):
            for index, hypotheses in zip(group, results, strict=True):
                found[index] = self._prediction(hypotheses)
        yield from found

    def _generate(self, task: Task) -> list[list[Hypothesis]]:
        prefix = None if task.prefixes is None else Padded.of(task.prefixes)
        source = Padded.of(task.sources, task.heads)
        return self.model.generate(source, self._search(task.number), prefix)

    def _search(self, number: int) -> Search:
        """With a seed of its own for each group, or the same line would get the same draws."""
        if not isinstance(self.search, Sample):
            return self.search
        seed = Random(f"{self.search.seed} {number}").getrandbits(63)
        return self.search.changed(seed=seed)

    def _sides(
        self, lines: list[str], heads: Optional[list[Heads]], prefixes: Optional[list[str]]
    ) -> tuple[Rows, Optional[Rows], Optional[Rows]]:
        """The sources with the heads of their pieces, and what the targets begin with.

        Without a source the lines are what the targets begin with. They stand in its place too:
        the model does not read them there, but they bound the length of its targets.
        """
        if self.model.reads_source:
            forced = None if prefixes is None else self.tokenizers.target.encode(prefixes)
            rows, trees = self._read([line.strip() for line in lines], heads)
            return [[*row, EOS] if row else [] for row in rows], trees, forced
        if prefixes is not None:
            raise UsageError(
                "A language model goes on from the lines themselves: give no prefixes."
            )
        begun = self._cut(self.tokenizers.target.encode([line.strip() for line in lines]))
        return [[*row, EOS] for row in begun], None, begun

    def _must_have_room(self, prefixes: Rows, first: int) -> None:
        """Refuse what a target cannot begin with, in a model that reads so many pieces at most."""
        most = self.model.length_limit
        for number, row in enumerate(prefixes, first + 1):
            if most is not None and len(row) >= most:
                raise UsageError(
                    f"The prefix of line {number} has {len(row)} pieces, and this model can read "
                    f"{most - 1}: shorten it."
                )

    def _read(
        self, lines: Sequence[str], heads: Optional[Sequence[Heads]]
    ) -> tuple[Rows, Optional[Rows]]:
        """Source ids, and the heads of their pieces."""
        encode = self.tokenizers.source.encode
        if heads is None:
            return self._cut(encode(lines)), None
        rows, trees = encode_trees(lines, heads, encode)
        return self._cut(rows), [cut_heads(tree, self.length_limit) for tree in trees]

    def _cut(self, rows: list[list[int]]) -> list[list[int]]:
        """The first `length_limit` ids of each row; how many had more is counted."""
        self.cut += sum(len(row) > self.length_limit for row in rows)
        return [row[: self.length_limit] for row in rows]

    def _groups(self, rows: list[list[int]], workers: int = 1) -> Iterator[list[int]]:
        """Row numbers that go together: longest first, within the budget of tokens.

        Every worker gets several groups, so that none is left with the last one alone.
        """
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: -len(rows[i]))
        share = -(-len(order) // (4 * workers)) if workers > 1 else len(order)
        start = 0
        while start < len(order):
            count = max(1, min(share, self.batch_tokens // len(rows[order[start]])))
            yield order[start : start + count]
            start += count

    def _prediction(self, hypotheses: list[Hypothesis]) -> Prediction:
        best = tuple(
            Choice(self.tokenizers.target.decode(each.tokens), each.score, each.log_probability)
            for each in hypotheses
        )
        return Prediction(best[0].text, best)

    @torch.inference_mode()
    def score(
        self, pairs: Iterable[tuple[str, str]], heads: Optional[Iterable[Heads]] = None
    ) -> Iterator[tuple[float, int]]:
        """log p(target | source) of each pair and its number of tokens, in order."""
        must_fit(self.reads_heads, heads is not None, "heads")
        stream, first = iter(pairs), 0
        trees = iter(heads) if heads is not None else None
        while window := list(islice(stream, WINDOW)):
            lines = [source for source, _ in window]
            sources, beside = self._read(lines, self._beside(lines, trees, first))
            first += len(window)
            targets = self._cut(self.tokenizers.target.encode([target for _, target in window]))
            found = [(0.0, 0)] * len(window)
            lengths = [[*s, *t, EOS] for s, t in zip(sources, targets, strict=True)]
            for group in self._groups(lengths):
                batch = Batch(
                    Padded.of([[*sources[i], EOS] for i in group], _some(beside, group)),
                    Padded.of([[*targets[i], EOS] for i in group]),
                )
                totals = self.model.log_probabilities(batch).sum(dim=1).tolist()
                for i, total in zip(group, totals, strict=True):
                    found[i] = (total, len(targets[i]) + 1)
            yield from found


def _some(rows: Optional[Rows], group: list[int]) -> Optional[Rows]:
    return None if rows is None else [rows[i] for i in group]
