"""How good a model is while it trains: its loss, a score, and a few translations to look at."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import suppress
from typing import Optional

import torch

from regard.data.batch import Batch
from regard.data.line import Line
from regard.data.store import by_length
from regard.data.tokenizers import Tokenizers
from regard.metrics.table import LOSS, check_applies, quick_score
from regard.models.base import Model
from regard.nn.fast.prepare import prepare_for_search
from regard.predict import Predictor
from regard.processes.ranks import Ranks
from regard.runs.folder import VALID, Run
from regard.runs.languages import validation_metrics
from regard.runs.snapshot import SENTENCES, save_snapshot, snapshot
from regard.terminal import Count
from regard.training.display import Display
from regard.training.trainer import Pieces, Validation

LINES_AT_ONCE = 128
"""Lines that each process translates before it looks whether to stop."""


class Validator:
    """The loss over the validation data, and a score of its first lines translated greedily.

    All processes share the work. It is a generator that yields after each piece of it and before
    the processes exchange anything, so that training can stop there; sent True, it translates no
    more lines. What becomes of the very first lines is kept, for `regard watch`, unless a `part` of
    the data is named.
    """

    def __init__(
        self, run: Run, sides: Tokenizers, display: Display, ranks: Ranks, part: str = ""
    ) -> None:
        self.run = run
        self.part = part or VALID
        self.keeps = not part
        self.sides = sides
        self.display = display
        self.ranks = ranks
        self.shard = run.config.training.shard
        self.metric = run.config.metric
        self.metrics = validation_metrics(run)
        wanted = SENTENCES if self.metric == LOSS else run.config.training.validation_lines
        self.pairs = run.validation_pairs(wanted, self.part)
        self.references = [pair.target.text for pair in self.pairs]
        check_applies(self.metric, self.references)
        if not run.config.reads_source:  # the first words are what it continues
            begun = [Line(" ".join(line.split()[:3])) for line in self.references]
            given = zip(self.pairs, begun, strict=True)
            self.pairs = [pair._replace(source=line) for pair, line in given]

    @torch.inference_mode()
    def __call__(self, model: Model, step: int, lines: Optional[int]) -> Pieces:
        """Score a model on this many lines, or on all that the settings ask for."""
        config = self.run.config
        predictor = Predictor(
            model if self.shard else prepare_for_search(model),
            self.sides,
            config.search.quick(),
            length_limit=config.length_limit,
            annotations=config.annotations,
        )
        work = len(self.run.store(self.part)) + len(self.pairs[:lines])
        with self.display.validating(work) as count:
            loss = yield from self._loss(model, count)
            outputs = yield from self._outputs(predictor, lines, count)
        scores = {"loss": loss}
        if self.ranks.first:
            if self.metric != LOSS:
                scores[self.metric] = self._score(outputs)
            if self.keeps and not self.shard:
                first = self.pairs[:SENTENCES], outputs[:SENTENCES]
                with suppress(OSError):  # a full disk is reported when a checkpoint is saved
                    save_snapshot(self.run, step, snapshot(predictor, *first))
        yield
        return Validation(scores, len(outputs))

    def _loss(self, model: Model, count: Count) -> Generator[None, bool, float]:
        """-log p per target token."""
        nll, tokens = 0.0, 0
        batches = by_length(self.run.store(self.part), self.run.config.batch.tokens)
        for index, batch in enumerate(batches):
            own, counts = self._share(batch, index)
            if own is not None:
                loss = model(own.to(model.device))
                nll += counts * float(loss.nll.sum())
                tokens += counts * loss.tokens
            count(len(batch))
            if self.shard or (index + 1) % self.ranks.size == 0:
                yield
        yield
        total = torch.tensor([nll, tokens], dtype=torch.float64)
        self.ranks.all_reduce(total)
        return float(total[0] / total[1])

    def _share(self, batch: Batch, index: int) -> tuple[Optional[Batch], int]:
        """What this process computes of a batch, and whether it counts.

        Each takes some of the batches; of a model that is sharded, all compute together, and one
        that has no row takes another's.
        """
        rank, size = self.ranks.rank, self.ranks.size
        if self.shard:
            own = batch.rows(rank, None, size)
            return (own, 1) if len(own) else (batch.rows(0, 1), 0)
        return (batch if index % size == rank else None), 1

    def _outputs(
        self, predictor: Predictor, lines: Optional[int], count: Count
    ) -> Generator[None, bool, list[str]]:
        sources = [pair.source for pair in self.pairs[:lines]]
        if self.shard:
            return (yield from self._same_outputs(predictor, sources, count))
        rank, size = self.ranks.rank, self.ranks.size
        outputs: list[str] = []
        while len(outputs) < len(sources):
            some = sources[len(outputs) :][: size * LINES_AT_ONCE]
            own = predictor(some[rank::size])
            enough = yield
            joined = [""] * len(some)
            for number, text in enumerate(self.ranks.gather_text(json.dumps(own))):
                joined[number::size] = json.loads(text)
            outputs += joined
            count(len(some))
            if enough:
                break
        return outputs

    def _same_outputs(
        self, predictor: Predictor, sources: list[Line], count: Count
    ) -> Generator[None, bool, list[str]]:
        """Of a model that is sharded: all processes translate the same lines, step by step, since
        each step needs the weights of all of them."""
        outputs: list[str] = []
        while len(outputs) < len(sources):
            some = sources[len(outputs) :][:LINES_AT_ONCE]
            outputs += predictor(some)
            count(len(some))
            if (yield):
                break
        return outputs

    def _score(self, outputs: list[str]) -> float:
        sources = [pair.source.text for pair in self.pairs[: len(outputs)]]
        references = self.references[: len(outputs)]
        return quick_score(self.metric, sources, outputs, references, self.metrics)
