"""The facts about a run that `regard info` shows, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regard.models.weights import collect
from regard.processes.devices import CPU
from regard.runs.directions import directions_of
from regard.runs.folder import Run
from regard.runs.languages import languages_of
from regard.runs.load import build_model
from regard.runs.plan import DEVICE
from regard.runs.transfer import FACTS


def describe(run: Run, say: Callable[[str], None] = print) -> dict[str, Any]:
    checkpoints = run.checkpoints(say)
    steps, best = checkpoints.steps(), checkpoints.best()
    validations = [record for record in run.journal if record["event"] == "validation"]
    return {
        "run": str(run.path),
        "model": run.config.model.kind,
        "languages": languages_of(run)._asdict() if any(languages_of(run)) else None,
        "directions": [f"{source} to {target}" for source, target in directions_of(run)],
        **_sizes(run),
        "pairs": run.facts("data").get("pairs"),
        "device": run.facts(DEVICE).get(DEVICE, CPU),
        **_started(run),
        "origin": run.origin,
        "steps": run.steps,
        "trained_to": steps[-1] if steps else 0,
        "used_checkpoint": best.step if best else None,
        "validation": validations[-1] if validations else None,
        "config": run.config.model_dump(mode="json"),
    }


def _started(run: Run) -> dict[str, Any]:
    start = run.facts("data").get("start")
    if start is None:
        return {}
    return {
        "started_from": f"{start['from']}, step {start['step']}",
        "transfer": run.facts(FACTS) or None,
    }


def _sizes(run: Run) -> dict[str, Any]:
    if not run.has_tokenizers():
        return {}
    sides = run.tokenizers()
    parameters = sum(tensor.numel() for tensor in collect(build_model(run, sides)).values())
    written = None if run.config.writes == "indices" else sides.target.size
    vocabulary = {"source": sides.source.size, "target": written}
    return {"parameters": parameters, "vocabulary": vocabulary}
