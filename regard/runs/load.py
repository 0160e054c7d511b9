"""From the folder of a run to a model or a predictor that is ready to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional, Union

import torch

from regard.data.languages import Languages
from regard.data.parallel import PathLike
from regard.data.tokenizers import Tokenizers
from regard.errors import RegardError, UsageError
from regard.models.base import Model
from regard.models.ensemble import Ensemble
from regard.models.weights import install
from regard.nn.fast.prepare import prepare_for_search, quantize
from regard.predict import BATCH_TOKENS, Predictor
from regard.processes.devices import Precision, chosen_device, on_device, search_precision
from regard.runs.directions import tags_for
from regard.runs.first import install_first
from regard.runs.folder import Run
from regard.runs.identity import check_usable
from regard.runs.shortlist import with_shortlist
from regard.search.base import Search
from regard.training.checkpoint import Checkpoint

Say = Callable[[str], None]


def load(
    path: Union[PathLike, Sequence[PathLike]],
    *,
    languages: tuple[Optional[str], Optional[str]] = (None, None),
    device: Optional[str] = None,
) -> Predictor:
    """A trained run, ready to use: load("runs/en-de")("A sentence.").

    Several runs that share their tokenizers are an ensemble: load(["runs/a", "runs/b"]). For a run
    of several languages, name source and target: load("runs/many", languages=("en", "de")).
    `device` is auto, cpu, cuda or mps; the CPU unless it is given.
    """
    first, *others = [path] if isinstance(path, (str, Path)) else path
    run = Run.open(Path(first))
    with on_device(device):
        return load_predictor(run, ensemble=others, tags=tags_for(run, Languages(*languages)))


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
    return model_at(run, checkpoint), checkpoint


def model_at(run: Run, checkpoint: Checkpoint) -> Model:
    """The model with the weights of a checkpoint, averaged as the run averages them."""
    check_usable(run, checkpoint)
    model = _random_model(run, run.tokenizers())
    install(model, checkpoint.tensors("weights"))
    average = run.config.training.average.build(model)
    average.restore(checkpoint.tensors("average"))
    install(model, average.weights())
    return model


def load_predictor(
    run: Run,
    search: Optional[Search] = None,
    batch_tokens: int = BATCH_TOKENS,
    workers: int = 1,
    int8: bool = False,
    shortlist: int = 0,
    ensemble: Sequence[PathLike] = (),
    tags: str = "",
    say: Say = print,
) -> Predictor:
    """The best weights, ready to translate; with those of other runs, if they are an ensemble.

    They are on the device and in the precision of `on_device`. `tags` are those from
    `tags_for`, if all lines are in the same languages.

    Two options trade a little quality: eight-bit weights save memory, and a shortlist saves time
    by considering only the target pieces that are likely for the source, `shortlist` per piece.
    """
    trained = load_ensemble(run, ensemble, say) if ensemble else load_model(run, say)[0]
    trained, sides = trained.to(chosen_device()), run.tokenizers()
    precision = search_precision()
    _check_precision(run, precision, int8)
    if precision == "float32":
        trained = quantize(trained) if int8 else prepare_for_search(trained)
    return Predictor(
        with_shortlist(run, trained, sides, shortlist, say) if shortlist else trained,
        sides,
        search or run.config.search,
        batch_tokens=batch_tokens,
        workers=workers,
        annotations=run.config.annotations,
        length_limit=run.config.length_limit,
        tags=tags,
        precision=precision,
    )


def _check_precision(run: Run, precision: Precision, int8: bool) -> None:
    if precision == "float32":
        return
    if int8:
        raise UsageError(
            f"--int8 cannot be combined with --precision {precision}: remove one of them."
        )
    if not run.config.model.mixed_precision:
        raise UsageError(
            f"A model of kind {run.config.model.kind} needs more precision than {precision} to "
            "address its memory: use float32."
        )


def load_ensemble(run: Run, others: Sequence[PathLike], say: Say = print) -> Model:
    """One model of several runs: the mean of their probabilities predicts."""
    runs = [run, *(Run.open(Path(path)) for path in others)]
    for other in runs[1:]:
        _check_fits(run, other)
    models = [load_model(each, say)[0] for each in runs]
    for each, model in zip(runs, models, strict=True):
        if not (model.stepwise and model.reads_source and model.writes == "text"):
            raise UsageError(
                f"{each.path} is of kind {each.config.model.kind}, which cannot be part of an "
                "ensemble: give runs that read a source and write one token after the other."
            )
    return Ensemble(models)


def _check_fits(run: Run, other: Run) -> None:
    """Refuse a run that does not read and write the same ids."""
    if other.path.resolve() == run.path.resolve():
        raise UsageError(f"{other.path} is given twice: give different runs.")
    check_same_tokenizers(run, other)
    if other.config.annotations != run.config.annotations:
        raise UsageError(
            f"{run.path} and {other.path} do not read the same annotations: give runs that do."
        )


def check_same_tokenizers(run: Run, other: Run) -> None:
    if other.tokenizers().digest() != run.tokenizers().digest():
        raise UsageError(
            f"{other.path} has a different tokenizer from {run.path}: train runs that belong "
            "together with --tokenizer or --from."
        )
