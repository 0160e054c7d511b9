"""A finished run that nothing was trained for: averaged, or imported from another tool."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.data.tokenizers import Tokenizers
from regard.files import sync_folder
from regard.models.base import Model
from regard.models.weights import collect
from regard.recipes.config import Config
from regard.runs.folder import ORIGIN, Run
from regard.runs.identity import identity
from regard.training.progress import Progress

STEP = 0
"""Of its only checkpoint."""


def make_run(
    folder: Path,
    config: Config,
    tokenizers: Tokenizers,
    model: Model,
    origin: str,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Run:
    """A run with the weights of a model and no data, in a folder that appears when complete.

    `origin` says what it is, such as "the average of runs/a and runs/b". `facts` are kept with it
    by name, such as "languages".
    """
    Run.check_free(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        run = Run.create(temporary, config)
        tokenizers.save(run.path)
        for name, values in {**(facts or {}), ORIGIN: {"origin": origin}}.items():
            run.save_facts(name, dict(values))
        _save_weights(run, model)
        Run.check_free(folder)  # still
        shutil.rmtree(folder, ignore_errors=True)  # at most what a start cut short left in it
        os.rename(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(folder.parent)
    return Run.open(folder)


def _save_weights(run: Run, model: Model) -> None:
    """The only checkpoint, whose average is the weights themselves."""
    average = run.config.training.average.build(model)
    groups = {"weights": collect(model), "average": average.tensors}
    run.checkpoints().save(
        STEP,
        {
            name: {key: each.cpu().contiguous() for key, each in group.items()}
            for name, group in groups.items()
        },
        asdict(Progress(step=STEP, finished=True)),
        identity(run),
        STEP,
    )
