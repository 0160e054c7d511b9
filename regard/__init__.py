"""regard: train, evaluate and look inside your own sequence-to-sequence models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from regard.evaluation import compare, evaluate, score
    from regard.experiment import train
    from regard.inspection.look import look
    from regard.ladder.climb import climb
    from regard.problem import Misuse, Problem
    from regard.run import load

__all__ = ["Misuse", "Problem", "climb", "compare", "evaluate", "load", "look", "score", "train"]

_HOMES = {
    "Misuse": "regard.problem",
    "Problem": "regard.problem",
    "climb": "regard.ladder.climb",
    "compare": "regard.evaluation",
    "evaluate": "regard.evaluation",
    "load": "regard.run",
    "look": "regard.inspection.look",
    "score": "regard.evaluation",
    "train": "regard.experiment",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: importing torch takes seconds."""
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
