"""Which config, data and tokenizers a checkpoint belongs to: it is never used with others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from regard.config import differences
from regard.errors import RegardError, UsageError
from regard.recipes.config import Config
from regard.runs.folder import Run, read_config
from regard.training.checkpoint import Checkpoint


def identity(run: Run) -> dict[str, Any]:
    """What each checkpoint records of its run: the hash of its config, its data, and the hash of
    its tokenizers."""
    written = json.dumps(read_config(run.path), sort_keys=True)
    return {
        "config": hashlib.sha256(written.encode()).hexdigest(),
        "data": run.facts("data").get("fingerprint"),
        "tokenizers": run.tokenizers().digest(),
    }


def check_same_config(run: Run, config: Config, another: str, longer: bool = False) -> None:
    """Refuse to resume a run with other settings.

    `another` is what to give for a new run; `longer` is whether this one may be trained longer.
    """
    changes = differences(run.config, config)
    if not changes:
        return
    before, now = run.config.model.kind, config.model.kind
    if before != now:
        raise UsageError(
            f"{run.path} was started with a model of kind {before}, not {now}: give the same "
            f"recipe to resume it, or {another} to start a new run."
        )
    advice = "give the same ones to resume it"
    if longer and all(each.startswith("budget.") for each in changes) and _is_finished(run):
        advice = f"to train it longer, give --run {run.path} --more and the further budget alone"
    raise UsageError(
        f"{run.path} was started with other settings ({'; '.join(changes)}): "
        f"{advice}, or {another} to start a new run."
    )


def _is_finished(run: Run) -> bool:
    checkpoint = run.checkpoints().latest()
    return checkpoint is not None and bool(checkpoint.progress().get("finished"))


def check_matches(run: Run, checkpoint: Checkpoint) -> None:
    """Refuse to resume from a checkpoint that was made with another config, data or tokenizer."""
    _check(run, checkpoint, ("config", "data", "tokenizers"))


def check_usable(run: Run, checkpoint: Checkpoint) -> None:
    """Refuse to use weights that were trained with another config or other tokenizers."""
    _check(run, checkpoint, ("config", "tokenizers"))


def _check(run: Run, checkpoint: Checkpoint, names: Sequence[str]) -> None:
    """What an older checkpoint does not record cannot be checked."""
    now = identity(run)
    for name in names:
        if checkpoint.manifest.get(name, now[name]) != now[name]:
            files = {"tokenizers": run.tokenizer_files()}.get(name, [run.path / f"{name}.json"])
            raise UsageError(
                f"{' or '.join(map(str, files))} was changed after {checkpoint.folder.name} was "
                "saved: restore it, or start another run."
            )


def weights_digest(run: Run, say: Callable[[str], None] = print) -> str:
    """A hash of the weights that a run translates with, and of its tokenizers."""
    checkpoint = run.checkpoints(say).best()
    if checkpoint is None:
        raise RegardError(
            f"{run.path} has no checkpoint yet: train it longer with the same command."
        )
    sides = run.tokenizers()
    contents = [side.content() for side in (sides.source, sides.target)]
    known = json.dumps([checkpoint.manifest["files"], contents], sort_keys=True)
    return hashlib.sha256(known.encode()).hexdigest()
