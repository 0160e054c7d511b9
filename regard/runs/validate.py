"""How good a model is while it trains: its loss, a score, and a few translations to look at."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import torch

from regard.data.line import Line
from regard.data.store import by_length
from regard.data.tokenizers import Tokenizers
from regard.metrics.table import LOSS, check_applies, quick_score
from regard.models.base import Model
from regard.nn.fast.prepare import prepare_for_search
from regard.predict import Predictor
from regard.runs.folder import Run
from regard.runs.snapshot import SENTENCES, save_snapshot, snapshot
from regard.training.trainer import Scores


def validator(run: Run, sides: Tokenizers) -> Callable[[Model, int], Scores]:
    """Loss over the validation data, and a score of its first lines translated greedily.

    What becomes of the very first ones is kept, for `regard watch`.
    """
    metric, lines = run.config.metric, run.config.training.validation_lines
    store = run.store("valid")
    pairs = run.validation_pairs(SENTENCES if metric == LOSS else lines)
    references = [pair.target.text for pair in pairs]
    check_applies(metric, references)
    greedy = run.config.search.quick()
    if not run.config.reads_source:  # the first words are what it continues
        begun = [Line(" ".join(line.split()[:3])) for line in references]
        pairs = [pair._replace(source=line) for pair, line in zip(pairs, begun, strict=True)]

    @torch.inference_mode()
    def validate(model: Model, step: int) -> Scores:
        losses = [model(batch) for batch in by_length(store, run.config.batch.tokens)]
        tokens = sum(loss.tokens for loss in losses)
        scores = {"loss": sum(float(loss.nll.sum()) for loss in losses) / tokens}
        predictor = Predictor(
            prepare_for_search(model),
            sides,
            greedy,
            length_limit=run.config.length_limit,
            annotations=run.config.annotations,
        )
        outputs = predictor([pair.source for pair in pairs])
        if metric != LOSS:
            texts = [pair.source.text for pair in pairs]
            scores[metric] = quick_score(metric, texts, outputs, references)
        with suppress(OSError):  # a full disk is reported when a checkpoint is saved
            save_snapshot(run, step, snapshot(predictor, pairs[:SENTENCES], outputs[:SENTENCES]))
        return scores

    return validate
