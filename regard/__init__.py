"""regard: train, evaluate and look inside your own sequence-to-sequence models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from regard.data.line import Line
    from regard.data.parallel import Parallel
    from regard.diagnosis.doctor import doctor
    from regard.errors import Interrupted, RegardError, UsageError
    from regard.inspection.look import look
    from regard.interop.exporting import export
    from regard.interop.importing import import_model
    from regard.interop.ray import translate_shards
    from regard.ladders.ladder import ladder
    from regard.planning.plan import plan
    from regard.processes.devices import on_device
    from regard.runs.augment import augment
    from regard.runs.average import average
    from regard.runs.distill import distill
    from regard.runs.evaluate import compare, evaluate, score
    from regard.runs.judging import tune_judges
    from regard.runs.load import load
    from regard.runs.train import train
    from regard.serving import serve
    from regard.studies.series import study

__all__ = [
    "Interrupted",
    "Line",
    "Parallel",
    "RegardError",
    "UsageError",
    "augment",
    "average",
    "compare",
    "distill",
    "doctor",
    "evaluate",
    "export",
    "import_model",
    "ladder",
    "load",
    "look",
    "on_device",
    "plan",
    "score",
    "serve",
    "study",
    "train",
    "translate_shards",
    "tune_judges",
]

_HOMES = {
    "Interrupted": "regard.errors",
    "Line": "regard.data.line",
    "Parallel": "regard.data.parallel",
    "UsageError": "regard.errors",
    "RegardError": "regard.errors",
    "ladder": "regard.ladders.ladder",
    "augment": "regard.runs.augment",
    "average": "regard.runs.average",
    "compare": "regard.runs.evaluate",
    "distill": "regard.runs.distill",
    "doctor": "regard.diagnosis.doctor",
    "evaluate": "regard.runs.evaluate",
    "export": "regard.interop.exporting",
    "import_model": "regard.interop.importing",
    "load": "regard.runs.load",
    "look": "regard.inspection.look",
    "on_device": "regard.processes.devices",
    "plan": "regard.planning.plan",
    "score": "regard.runs.evaluate",
    "serve": "regard.serving",
    "study": "regard.studies.series",
    "train": "regard.runs.train",
    "translate_shards": "regard.interop.ray",
    "tune_judges": "regard.runs.judging",
}


def __getattr__(name: str) -> Any:
    """Import a public name only when it is first used, since importing torch takes seconds."""
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
