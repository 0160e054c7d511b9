"""What keeps a run alive: finding where a NaN arose, and splitting a batch that does not fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import Batch
from regard.models.base import Model

FINE = "a value that is fine when computed again"


def name_culprit(model: Model, batches: Iterable[Batch]) -> str:
    """The first module whose output, or else the first parameter whose gradient, is not finite."""
    for name, parameter in model.named_parameters():
        if not bool(parameter.isfinite().all()):
            return f"the weights of {name}"
    found: list[str] = []

    def look(name: str) -> Any:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            if not found and not _finite(output):
                found.append(name)

        return hook

    hooks = [m.register_forward_hook(look(n)) for n, m in model.named_modules() if n]
    try:
        for batch in batches:
            loss = model(batch)
            if found:
                return f"the output of {found[0]}"
            if not bool(loss.total.isfinite()):
                return "the loss"
            loss.total.backward()
    finally:
        for hook in hooks:
            hook.remove()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not bool(parameter.grad.isfinite().all()):
            return f"the gradient of {name}"
    return FINE


def _finite(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.is_floating_point() or bool(value.isfinite().all())
    if isinstance(value, tuple):
        return all(_finite(part) for part in value)
    return True


def statistics(model: nn.Module) -> list[Tensor]:
    """What a model gathers while it is trained but does not learn, as batch normalisation does."""
    kept = model.state_dict(keep_vars=True).values()
    return [each for each in kept if not isinstance(each, nn.Parameter)]


_NO_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "could not create a primitive",  # oneDNN, where there is no room for the code of a product
)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, in any of the ways torch says it."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _NO_MEMORY)


def halves(batch: Batch) -> list[Batch]:
    """A batch as two of half its rows."""
    middle = len(batch) // 2
    return [batch.rows(0, middle), batch.rows(middle)]
