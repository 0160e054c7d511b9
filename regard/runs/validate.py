"""How good a model is while it trains: its loss, a score, and a few translations to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import torch

from regard.data.batch import Batch
from regard.data.line import Line
from regard.data.store import by_length
from regard.data.tokenizers import Tokenizers
from regard.metrics.table import LOSS, quick_score
from regard.models.base import Model
from regard.nn.fast.prepare import prepare_for_search
from regard.predict import Predictor
from regard.runs.folder import Run
from regard.runs.snapshot import SENTENCES, save_snapshot, snapshot
from regard.terminal import Count
from regard.training.display import Display
from regard.training.trainer import Scores


def validator(run: Run, sides: Tokenizers, display: Display) -> Callable[[Model, int], Scores]:
    """Loss over the validation data, and a score of its first lines translated greedily.

    What becomes of the very first ones is kept, for `regard watch`.
    """
    settings = run.config.training
    store = run.store("valid")
    wanted = SENTENCES if settings.metric == LOSS else settings.validation_lines
    pairs = run.validation_pairs(wanted)
    references = [pair.target.text for pair in pairs]
    greedy = run.config.search.quick()
    if not run.config.reads_source:  # the first words are what it continues
        begun = [Line(" ".join(line.split()[:3])) for line in references]
        pairs = [pair._replace(source=line) for pair, line in zip(pairs, begun, strict=True)]

    @torch.inference_mode()
    def validate(model: Model, step: int) -> Scores:
        with display.validating(len(store) + len(pairs)) as count:
            scores = {"loss": _loss(model, by_length(store, run.config.batch.tokens), count)}
            predictor = Predictor(
                prepare_for_search(model),
                sides,
                greedy,
                length_limit=run.config.length_limit,
                annotations=run.config.annotations,
            )
            outputs = predictor([pair.source for pair in pairs], count)
        if settings.metric != LOSS:
            texts = [pair.source.text for pair in pairs]
            scores[settings.metric] = quick_score(settings.metric, texts, outputs, references)
        with suppress(OSError):  # a full disk is reported when a checkpoint is saved
            save_snapshot(run, step, snapshot(predictor, pairs[:SENTENCES], outputs[:SENTENCES]))
        return scores

    return validate


def _loss(model: Model, batches: Iterable[Batch], count: Count) -> float:
    """-log p per target token."""
    nll, tokens = 0.0, 0
    for batch in batches:
        loss = model(batch)
        nll, tokens = nll + float(loss.nll.sum()), tokens + loss.tokens
        count(len(batch))
    return nll / tokens
