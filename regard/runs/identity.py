"""Which config and data a checkpoint belongs to, so that it is never resumed with others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from regard.errors import RegardError, UsageError
from regard.files import read_json
from regard.runs.folder import Run
from regard.training.checkpoint import Checkpoint


def identity(run: Run) -> dict[str, Any]:
    """What each checkpoint records of its run: the hash of its config, and its data."""
    written = json.dumps(read_json(run.path / "config.json"), sort_keys=True)
    return {
        "config": hashlib.sha256(written.encode()).hexdigest(),
        "data": run.facts("data").get("fingerprint"),
    }


def check_matches(run: Run, checkpoint: Checkpoint) -> None:
    """Refuse to resume from a checkpoint that was made with another config or other data."""
    for name, value in identity(run).items():
        if checkpoint.manifest.get(name) != value:
            raise UsageError(
                f"{run.path / f'{name}.json'} was changed after {checkpoint.folder.name} was "
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
