"""From the folder of a run to a model or a predictor that is ready to use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Optional, Union

import torch

from regard.data.tokenizers import Tokenizers
from regard.errors import RegardError
from regard.models.base import Model
from regard.models.weights import install
from regard.nn.fast.prepare import prepare_for_search, quantize
from regard.predict import BATCH_TOKENS, Predictor
from regard.runs.first import install_first
from regard.runs.folder import Run
from regard.runs.identity import check_usable
from regard.runs.shortlist import with_shortlist
from regard.search.base import Search
from regard.training.checkpoint import Checkpoint

Say = Callable[[str], None]


def load(path: Union[str, Path]) -> Predictor:
    """A trained run, ready to use: load("runs/en-de")("A sentence.")."""
    return load_predictor(Run.open(Path(path)))


def build_model(run: Run, tokenizers: Optional[Tokenizers] = None) -> Model:
    """The model with its initial weights: from the seed, or those of the run it started from."""
    model = _random_model(run, tokenizers or run.tokenizers())
    install_first(run, model)
    return model


def _random_model(run: Run, sides: Tokenizers) -> Model:
    torch.manual_seed(run.config.training.seed)
    return run.config.model.build(sides.source.size, sides.target.size)


def load_model(run: Run, say: Say = print) -> tuple[Model, Checkpoint]:
    """The model with its best weights, averaged as the run averages them."""
    checkpoint = run.checkpoints(say).best()
    if checkpoint is None:
        raise RegardError(
            f"{run.path} has no checkpoint yet: train it longer with the same command."
        )
    check_usable(run, checkpoint)
    model = _random_model(run, run.tokenizers())
    install(model, checkpoint.tensors("weights"))
    average = run.config.training.average.build(model)
    average.restore(checkpoint.tensors("average"))
    install(model, average.weights())
    return model, checkpoint


def load_predictor(
    run: Run,
    search: Optional[Search] = None,
    batch_tokens: int = BATCH_TOKENS,
    workers: int = 1,
    int8: bool = False,
    shortlist: int = 0,
    say: Say = print,
) -> Predictor:
    """The best weights, ready to translate.

    Two options trade a little quality: eight-bit weights save memory, and a shortlist saves time
    by considering only the target pieces that are likely for the source, `shortlist` per piece.
    """
    trained, _ = load_model(run, say)
    sides = run.tokenizers()
    model = quantize(trained) if int8 else prepare_for_search(trained)
    return Predictor(
        with_shortlist(run, model, sides, shortlist, say) if shortlist else model,
        sides,
        search or run.config.search,
        batch_tokens=batch_tokens,
        workers=workers,
        annotations=run.config.annotations,
        length_limit=run.config.length_limit,
    )
