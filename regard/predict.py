"""Lines in, predictions out: in order, batched, in bounded memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Optional, TypeVar, Union, overload

import torch

from regard.data.annotation import Points
from regard.data.annotations import Kinds
from regard.data.batch import Batch, Padded, Row
from regard.data.encoding import LENGTH_LIMIT, LineEncoder
from regard.data.line import Line, Pair, Sides, Text
from regard.data.pictures import Picture
from regard.data.tags import tagged
from regard.data.targets import check_target, refuse_unseen
from regard.data.tokenizers import Tokenizers
from regard.data.windows import Work, in_windows
from regard.data.words import Side
from regard.errors import UsageError
from regard.messages import counted
from regard.models.base import Model
from regard.nn.captured import Attention, by_sentence, watch
from regard.processes.devices import Precision, on_cpu
from regard.processes.pool import worker_map
from regard.search.base import Hypothesis, Search
from regard.terminal import Count, uncounted
from regard.training.precision import in_precision

WINDOW = 8192
"""Lines read ahead and sorted by length, so that a batch holds lines of similar length."""

BATCH_TOKENS = 2048
"""Source tokens translated together: enough rows to keep a core busy, few enough for its cache."""

ATTENTION_WINDOW = 2048
ATTENTION_TOKENS = 2048
"""Pairs and tokens of both sides when attention is captured, which needs more memory."""

POOL_MIN_LINES = 128
"""Minimum number of lines for which worker processes pay off."""

Texts = Union[list[str], list[Line], list[Text]]
Item = TypeVar("Item")
Encoded = TypeVar("Encoded")
Result = TypeVar("Result")
Read = Callable[[Attention, Side, Side], Result]
"""What to make of the attention of a pair, its source and its target."""


@dataclass(frozen=True)
class Candidate:
    """One target of an n-best list."""

    text: str
    score: float
    log_probability: float
    tokens: int  # EOS included


@dataclass(frozen=True)
class Prediction:
    """The targets found for one line, best first; an empty line becomes an empty line.

    A search finds different texts, perhaps fewer than were asked for; draws may be equal.
    """

    text: str
    best: tuple[Candidate, ...]


EMPTY = Prediction("", (Candidate("", 0.0, 0.0, 1),))


def different(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Only the best candidate of each text: pieces or fertilities may differ where texts do not."""
    first: dict[str, Candidate] = {}
    for each in candidates:
        first.setdefault(each.text, each)
    return tuple(first.values())


class Predictor:
    """A trained model with its tokenizers: text to text.

    A model that reads annotations, such as dependency trees, gets them with each `Line`. A language
    model continues each line; from an empty line it starts a text of its own.
    """

    def __init__(
        self,
        model: Model,
        tokenizers: Tokenizers,
        search: Search,
        batch_tokens: int = BATCH_TOKENS,
        length_limit: int = LENGTH_LIMIT,
        workers: int = 1,
        annotations: Kinds = (),
        tags: str = "",
        precision: Precision = "float32",
    ) -> None:
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.search = search
        self.batch_tokens = batch_tokens
        most = model.length_limit
        self.length_limit = length_limit if most is None else min(length_limit, most - 1)
        self.workers = self._processes(workers)
        self.annotations = annotations
        self.precision = precision  # of the large products of search
        self.tags = tags  # that every source line begins with
        self.truncated = 0  # lines of which only the first `length_limit` pieces were read
        self._source = LineEncoder(tokenizers.source, annotations)
        self._target = LineEncoder(tokenizers.target)

    def _processes(self, wanted: int) -> int:
        """Workers are forked, which no device but the CPU survives."""
        return wanted if on_cpu(self.model.device) else 1

    @overload
    def __call__(self, lines: Text, count: Count = ...) -> str: ...
    @overload
    def __call__(self, lines: Texts, count: Count = ...) -> list[str]: ...
    def __call__(
        self, lines: Union[Text, Texts], count: Count = uncounted
    ) -> Union[str, list[str]]:
        """Translate a line, or a list of them; `count` is told how many more are done."""
        if isinstance(lines, (str, Line)) or not isinstance(lines, Iterable):
            return next(self.predict([lines])).text
        return [prediction.text for prediction in self.predict(lines, count=count)]

    def predict(
        self,
        lines: Iterable[Text],
        prefixes: Optional[Iterable[str]] = None,
        window_size: int = WINDOW,
        count: Count = uncounted,
        first: int = 0,
    ) -> Iterator[Prediction]:
        """One prediction per line, in order; with prefixes, each target begins with its own.

        Predictions come after `window_size` lines or at the end of the input. `first` is how many
        lines of a text came in earlier calls: errors and draws count on from there.
        """
        if prefixes is not None and not self.model.reads_source:
            raise UsageError("A language model continues the lines themselves: give no prefixes.")
        with ExitStack() as stack:
            yield from in_windows(
                _Generation(self, stack, self.workers),
                with_prefixes(map(Line.of, lines), prefixes),
                window_size,
                self.batch_tokens,
                EMPTY,
                count,
                first,
            )

    def score(
        self, pairs: Iterable[Sides], count: Count = uncounted
    ) -> Iterator[tuple[float, int]]:
        """log p(target | source) of each pair and its number of tokens, in order."""
        with ExitStack() as stack:
            work = _Scoring(self, stack, self.workers)
            yield from in_windows(work, pairs, WINDOW, self.batch_tokens, (0.0, 0), count)

    def attend(
        self,
        pairs: Iterable[Sides],
        read: Read[Result],
        empty: Result,
        workers: int = 1,
        count: Count = uncounted,
    ) -> Iterator[Result]:
        """What `read` makes of the attention within each pair, in order; `empty` where a side is.

        Only what it returns is kept: the weights of a whole window would not fit into memory.
        """
        with ExitStack() as stack:
            work = _Attending(self, stack, self._processes(workers), read)
            yield from in_windows(work, pairs, ATTENTION_WINDOW, ATTENTION_TOKENS, empty, count)

    def read_sources(self, lines: Sequence[Line], first: int = 1) -> list[Row]:
        """The rows of some source lines, in full; the first is line `first` in errors."""
        lines = [tagged(line, self.tags) for line in lines]
        return self._source.encode(self._source.load(lines, first))

    def shown(self, line: Line) -> str:
        """How pages show a source line."""
        for kind in self.annotations:
            line = line._replace(text=kind.shown(line))
        return line.text

    def picture(self, source: Row) -> Optional[Picture]:
        """The picture that a source is, if it is one."""
        values = source.annotations
        found = (kind.picture(values[kind.name]) for kind in self.annotations if values)
        return next((each for each in found if each is not None), None)

    def points(self, line: Line) -> Points:
        """The points in the plane that the words of a source line are, if they are points."""
        return next(filter(None, (kind.points(line) for kind in self.annotations)), ())

    def read_targets(self, texts: Sequence[str], first: int = 1) -> list[Row]:
        """The rows of some targets, in full; what this model can never write is refused."""
        lines = [Line(text) for text in texts]
        rows = self._target.encode(lines)
        refuse_unseen(self.model.writes, rows, enumerate(lines, first), "Line {}".format)
        return rows

    def truncate(self, rows: Sequence[Row], first: int = 1) -> list[Row]:
        """Rows within the length limit; those that were longer are counted.

        Where the model writes something for each source word, no line may be truncated.
        """
        for number, row in enumerate(rows, first):
            if len(row) > self.length_limit and self.model.writes in ("tags", "indices"):
                raise UsageError(
                    f"Line {number} has {counted(len(row), 'piece')}, more than the "
                    f"{self.length_limit:,} that are read: split it into several lines."
                )
        self.truncated += sum(len(row) > self.length_limit for row in rows)
        return [row.truncated(self.length_limit) for row in rows]

    def report_truncated(self, say: Callable[[str], None]) -> None:
        """Say how many lines were truncated, if any were."""
        if self.truncated:
            lines = counted(self.truncated, "long line")
            say(f"Truncated {lines} to {counted(self.length_limit, 'piece')}.")


class _Request(NamedTuple):
    """A line to translate: its number from 0, its source if it has one, and what the target
    begins with."""

    number: int
    source: Optional[Row]
    prefix: Optional[Sequence[int]]


class _Pooled(Work[Item, Encoded, Result]):
    """Computes groups, in other processes if there are many items."""

    def __init__(self, predictor: Predictor, stack: ExitStack, workers: int) -> None:
        self._predictor = predictor
        self._stack = stack
        self._workers = workers
        self._map: Optional[Callable[[Iterable[Any]], Iterable[Any]]] = None  # into the pool

    @abstractmethod
    def compute(self, group: list[Encoded]) -> Sequence[Any]:
        """What a worker does with a group; `process` makes results of it."""

    def process(self, groups: Iterable[list[Encoded]]) -> Iterator[Sequence[Result]]:
        yield from self.computed(groups)

    def computed(self, groups: Iterable[list[Encoded]]) -> Iterable[Any]:
        return map(self.compute, groups) if self._map is None else self._map(groups)

    def groups(self, items: int) -> int:
        """Several for each worker, so that none is left alone with the last one."""
        if self._map is None and self._workers > 1 and items >= POOL_MIN_LINES:
            self._map = self._stack.enter_context(worker_map(self.compute, self._workers))
        return 1 if self._map is None else 4 * self._workers


class _Generation(_Pooled[tuple[Line, Optional[str]], _Request, Prediction]):
    """Translates lines."""

    def encode(self, items: list[tuple[Line, Optional[str]]], first: int) -> list[_Request]:
        predictor = self._predictor
        lines = [line.stripped() for line, _ in items]
        if predictor.model.reads_source:
            sources: list[Optional[Row]] = [
                row if row.ids else None
                for row in predictor.truncate(predictor.read_sources(lines, first + 1), first + 1)
            ]
            prefixes = self._prefixes(lines, [prefix for _, prefix in items], first + 1)
        else:  # the lines are what the targets begin with
            begun = predictor.read_targets([line.text for line in lines], first + 1)
            begun = predictor.truncate(begun, first + 1)
            sources, prefixes = [None] * len(lines), [row.ids for row in begun]
        self._check_room(prefixes, first)
        return [
            _Request(first + index, source, prefix)
            for index, (source, prefix) in enumerate(zip(sources, prefixes, strict=True))
        ]

    def _prefixes(
        self, lines: list[Line], texts: list[Optional[str]], first: int
    ) -> list[Optional[Sequence[int]]]:
        if None in texts:
            return [None] * len(texts)
        if self._predictor.model.writes == "indices":
            for number, (line, text) in enumerate(zip(lines, texts, strict=True), first):
                begun = Pair(number, line, Line(text or ""))
                check_target("indices", begun, f"The prefix of line {number}")
        rows = self._predictor.read_targets([text or "" for text in texts], first)
        return [row.ids for row in rows]

    def _check_room(self, prefixes: Sequence[Optional[Sequence[int]]], first: int) -> None:
        """Refuse prefixes that are longer than the model can read."""
        most = self._predictor.model.length_limit
        for number, ids in enumerate(prefixes, first + 1):
            if most is not None and ids is not None and len(ids) >= most:
                raise UsageError(
                    f"The prefix of line {number} has {counted(len(ids), 'piece')}, and this model "
                    f"can read {most - 1}: shorten it."
                )

    def length(self, encoded: _Request) -> int:
        if not self._predictor.model.reads_source:
            return len(encoded.prefix or ()) + 1
        return 0 if encoded.source is None else len(encoded.source) + 1

    def groups(self, items: int) -> int:
        """Sampling draws by group, so that groups must not depend on the number of workers."""
        wanted = super().groups(items)
        return 1 if self._predictor.search.draws else wanted

    def process(self, groups: Iterable[list[_Request]]) -> Iterator[list[Prediction]]:
        for found in self.computed(groups):
            yield [self._prediction(hypotheses) for hypotheses in found]

    def compute(self, group: list[_Request]) -> list[list[Hypothesis]]:
        search = self._predictor.search.seeded(group[0].number)
        if 1 < search.best < search.candidates:
            search = search.all_found()  # those of the same text will be one
        sources = [request.source for request in group if request.source is not None]
        prefixes = [request.prefix for request in group if request.prefix is not None]
        model = self._predictor.model
        prefix = Padded.of(prefixes).to(model.device) if prefixes else None
        with in_precision(model.device, self._predictor.precision):
            if prefix is None or sources:
                return model.generate(Padded.of_rows(sources).to(model.device), search, prefix)
            nothing = Padded.of([()] * len(prefixes)).to(model.device)
            return model.generate(nothing, search, prefix, search.limits(prefix.lengths + 1))

    def _prediction(self, hypotheses: list[Hypothesis]) -> Prediction:
        decode = self._predictor.tokenizers.target.decode
        best = tuple(
            Candidate(decode(each.tokens), each.score, each.log_probability, len(each.tokens) + 1)
            for each in hypotheses
        )
        if not self._predictor.search.draws:
            best = different(best)[: self._predictor.search.best]
        return Prediction(best[0].text, best)


class _Rows(NamedTuple):
    """An encoded pair."""

    source: Row
    target: Row


class _Scoring(_Pooled[Sides, _Rows, tuple[float, int]]):
    """Adds up the log-probabilities of given targets."""

    def encode(self, items: list[Sides], first: int) -> list[_Rows]:
        sources, targets = _split(items)
        predictor = self._predictor
        self._check(sources, targets, first + 1)
        read = predictor.truncate(predictor.read_sources(sources, first + 1), first + 1)
        texts = [line.text for line in targets]
        written = predictor.truncate(predictor.read_targets(texts, first + 1), first + 1)
        return list(map(_Rows, read, written))

    def _check(self, sources: list[Line], targets: list[Line], first: int) -> None:
        writes = self._predictor.model.writes
        for number, lines in enumerate(zip(sources, targets, strict=True), first):
            check_target(writes, Pair(number, *lines), f"Line {number}")

    def length(self, encoded: _Rows) -> int:
        return len(encoded.source) + len(encoded.target) + 1

    @torch.inference_mode()
    def compute(self, group: list[_Rows]) -> list[tuple[float, int]]:
        model = self._predictor.model
        totals = model.log_probabilities(_batch(group).to(model.device)).sum(dim=1).tolist()
        counts = [len(pair.target) + 1 for pair in group]
        return list(zip(totals, counts, strict=True))


class _Attending(_Pooled[Sides, _Rows, Result], Generic[Result]):
    """Captures the attention of one teacher-forced pass over given targets."""

    def __init__(
        self, predictor: Predictor, stack: ExitStack, workers: int, read: Read[Result]
    ) -> None:
        super().__init__(predictor, stack, workers)
        self._read = read

    def encode(self, items: list[Sides], first: int) -> list[_Rows]:
        sources, targets = _split(items)
        predictor, limit = self._predictor, self._predictor.length_limit
        read = predictor.read_sources([line.stripped() for line in sources], first + 1)
        written = predictor.read_targets([line.text.strip() for line in targets], first + 1)
        return [
            _Rows(source.truncated(limit), target.truncated(limit))
            for source, target in zip(read, written, strict=True)
        ]

    def length(self, encoded: _Rows) -> int:
        source, target = map(len, encoded)
        return source + target + 2 if source and target else 0

    def compute(self, group: list[_Rows]) -> list[Result]:
        model, sides = self._predictor.model, self._predictor.tokenizers
        batch = _batch(group)
        _, captured = watch(model, model.log_probabilities, batch.to(model.device))
        return [
            self._read(
                attention,
                Side.of(sides.source, pair.source.ids),
                Side.of(sides.target, pair.target.ids),
            )
            for attention, pair in zip(by_sentence(captured, batch), group, strict=True)
        ]


def _split(items: list[Sides]) -> tuple[list[Line], list[Line]]:
    return [Line.of(source) for source, _ in items], [Line.of(target) for _, target in items]


def _batch(group: list[_Rows]) -> Batch:
    return Batch(
        Padded.of_rows([pair.source for pair in group]),
        Padded.of_rows([pair.target for pair in group]),
    )


def with_prefixes(
    lines: Iterable[Line], prefixes: Optional[Iterable[str]]
) -> Iterator[tuple[Line, Optional[str]]]:
    """Each line with its prefix, of which there must be as many."""
    if prefixes is None:
        yield from ((line, None) for line in lines)
        return
    begun = iter(prefixes)
    for line in lines:
        prefix = next(begun, None)
        if prefix is None:
            raise UsageError("There are fewer prefixes than lines: give one per line.")
        yield line, prefix
    if next(begun, None) is not None:
        raise UsageError("There are more prefixes than lines: give one per line.")
