"""One run whose weights are the mean of several others (Wortsman et al. 2022, arXiv 2203.05482), or
of the last checkpoints of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Optional

import torch
from torch import Tensor

from regard.config import leaves
from regard.data.parallel import PathLike
from regard.errors import UsageError
from regard.messages import counted
from regard.models.base import Model
from regard.models.weights import collect, install
from regard.runs.directions import FACTS as DIRECTIONS
from regard.runs.folder import Run
from regard.runs.languages import FACTS as LANGUAGES
from regard.runs.load import check_same_tokenizers, load_model, model_at
from regard.runs.make import make_run

Say = Callable[[str], None]


def average(
    runs: Sequence[PathLike], *, run: PathLike, last: Optional[int] = None, say: Say = print
) -> Run:
    """Make a new run whose weights are the mean of those of several runs.

    They need the same model and tokenizer, and should have started from the same weights. With
    `last`, it is the mean of this many of the last checkpoints of each run.
    """
    given = [runs] if isinstance(runs, (str, Path)) else list(runs)
    members = [Run.open(Path(path)) for path in given]
    _check_count(members, last)
    first = members[0]
    for other in members[1:]:
        _check_same_model(first, other)
        check_same_tokenizers(first, other)
    Run.check_free(Path(run))
    if not _related(members):
        say(
            "These runs did not start from the same weights, so their average may be worse than "
            "any of them: compare them with 'regard compare'."
        )
    steps: list[str] = []
    model = _mean(_models(members, last, steps, say))
    facts = {name: kept for name in (LANGUAGES, DIRECTIONS) if (kept := first.facts(name))}
    return make_run(
        Path(run), first.config, first.tokenizers(), model, f"the average of {_and(steps)}", facts
    )


def _check_count(members: Sequence[Run], last: Optional[int]) -> None:
    paths = [each.path.resolve() for each in members]
    twice = [each.path for each in members if paths.count(each.path.resolve()) > 1]
    if twice:
        raise UsageError(f"{twice[0]} is given twice: give different runs.")
    if last is None and len(members) < 2:
        raise UsageError("Give several runs, or --last N for the last checkpoints of one.")
    for each in members if last is not None else ():
        kept = len(each.checkpoints().steps())
        if last is None or not 1 <= last <= kept:
            raise UsageError(
                f"{each.path} has {counted(kept, 'checkpoint')}, not {last}: give --last "
                f"{max(kept, 1)} or less, or train with a larger training.keep."
            )


def _check_same_model(first: Run, other: Run) -> None:
    """Refuse a run whose model computes something else: shapes are not enough, as with heads."""
    old, new = (
        dict(leaves(each.config.model.model_dump(mode="json"), "model.")) for each in (first, other)
    )
    if old["model.kind"] != new["model.kind"]:
        raise UsageError(
            f"{first.path} is of kind {old['model.kind']} and {other.path} of kind "
            f"{new['model.kind']}: only runs of one kind can be averaged."
        )
    names = [
        name
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name) and "dropout" not in name
    ]
    if names:
        raise UsageError(
            f"{first.path} and {other.path} differ in {_and(names)}: their weights cannot be "
            "averaged."
        )


def _related(members: Sequence[Run]) -> bool:
    """Whether all started from the same weights, or from one of them."""
    known = [_ancestry(each) for each in members]
    return bool(set.intersection(*known))


def _ancestry(run: Run) -> set[Any]:
    """The run itself, and the weights that it started with."""
    found: set[Any] = {run.path.resolve()}
    start = run.facts("data").get("start")
    if start is None:
        return found | {("seed", run.config.training.seed)}
    return found | {Path(start["from"]).resolve(), start["sha256"]}


def _models(
    members: Sequence[Run], last: Optional[int], steps: list[str], say: Say
) -> Iterable[Model]:
    """The models to average, one at a time; `steps` is told what they are."""
    for each in members:
        if last is None:
            model, checkpoint = load_model(each, say)
            steps.append(_name(each, checkpoint.step))
            yield model
            continue
        for checkpoint in each.checkpoints(say).last(last):
            steps.append(_name(each, checkpoint.step))
            yield model_at(each, checkpoint)


def _name(run: Run, step: int) -> str:
    return str(run.path) if run.origin is not None else f"{run.path} (step {step:,})"


def _mean(models: Iterable[Model]) -> Model:
    """A model with the mean weights; tensors of integers are those of the last model."""
    total, count = dict[str, Tensor](), 0
    for model in models:
        count += 1
        for name, tensor in collect(model).items():
            if tensor.is_floating_point():
                before = total.get(name, torch.zeros((), dtype=torch.float64))
                total[name] = before + tensor.double()
            else:
                total[name] = tensor
    mean = {
        name: tensor / count if tensor.is_floating_point() else tensor
        for name, tensor in total.items()
    }
    install(model, mean)
    return model


def _and(names: Sequence[str]) -> str:
    *before, end = names
    return f"{', '.join(before)} and {end}" if before else end
