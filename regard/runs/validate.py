"""How good a model is while it trains: its loss, a score, and a few translations to look at."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import torch

from regard.data.store import in_order
from regard.data.tokenizers import Tokenizers
from regard.inspection.snapshot import SENTENCES, snapshot
from regard.metrics.text import quick_score
from regard.models.base import Model
from regard.nn.fast.prepare import prepare_for_search
from regard.predict import Predictor
from regard.runs.folder import Run
from regard.training.trainer import Scores


def validator(run: Run, sides: Tokenizers) -> Callable[[Model, int], Scores]:
    """Loss over the validation data, and a score of its first lines translated greedily.

    What becomes of the very first ones is kept, for `regard watch`.
    """
    settings = run.config.training
    store = run.store("valid")
    wanted = SENTENCES if settings.metric == "loss" else settings.validation_lines
    sources, references = run.validation_text(wanted)
    heads = run.validation_heads(wanted)
    plain = {"beam": 1, "best": 1, "finished": None, "scored": False}
    greedy = run.config.search.changed(**plain)
    if not run.config.reads_source:
        sources = [" ".join(line.split()[:3]) for line in references]  # to go on from

    @torch.inference_mode()
    def validate(model: Model, step: int) -> Scores:
        losses = [model(batch) for batch in in_order(store, run.config.batch.tokens)]
        tokens = sum(loss.tokens for loss in losses)
        scores = {"loss": sum(float(loss.nll.sum()) for loss in losses) / tokens}
        prepared = prepare_for_search(model)
        predictor = Predictor(prepared, sides, greedy, reads_heads=run.config.reads_heads)
        outputs = predictor(sources, heads)
        if settings.metric != "loss":
            scores[settings.metric] = quick_score(settings.metric, outputs, references)
        few = slice(SENTENCES)
        shown = sources[few], references[few], outputs[few], heads and heads[few]
        with suppress(OSError):  # a full disk is told of when a checkpoint is saved
            run.save_snapshot(step, snapshot(predictor, *shown))
        return scores

    return validate
