"""Finding where a NaN or infinity arose, so that a skipped step can be explained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from regard.data.batch import Batch
from regard.models.base import Model
from regard.processes.devices import Precision
from regard.processes.memory import out_of_memory
from regard.training.precision import training_loss

NOT_REPRODUCIBLE = "loss or gradient (not reproducible)"


def find_non_finite(model: Model, batches: Iterable[Batch], precision: Precision) -> str:
    """Compute a step again and name what is not finite: the first weight, module output, loss or
    gradient, in this order."""
    model.zero_grad(set_to_none=True)
    try:
        in_pass = _in_weights(model) or _in_outputs(model, batches, precision)
        return in_pass or _in_gradients(model)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        return "value in a batch that does not fit in memory as a whole"


def _in_weights(model: Model) -> str:
    for name, parameter in model.named_parameters():
        if not bool(parameter.isfinite().all()):
            return f"weights of {name}"
    return ""


def _in_outputs(model: Model, batches: Iterable[Batch], precision: Precision) -> str:
    found: list[str] = []

    def look(name: str) -> Any:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            if not found and not _finite(output):
                found.append(name)

        return hook

    hooks = [m.register_forward_hook(look(n)) for n, m in model.named_modules() if n]
    try:
        for batch in batches:
            if not len(batch):
                continue
            loss = training_loss(model, batch, precision)
            if found:
                return f"output of {found[0]}"
            if not bool(loss.total.isfinite()):
                return "loss"
            loss.total.backward()
    finally:
        for hook in hooks:
            hook.remove()
    return ""


def _in_gradients(model: Model) -> str:
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not bool(parameter.grad.isfinite().all()):
            return f"gradient of {name}"
    return NOT_REPRODUCIBLE


def _finite(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.is_floating_point() or bool(value.isfinite().all())
    if isinstance(value, tuple):
        return all(_finite(part) for part in value)
    return True


def statistics(model: nn.Module) -> list[Tensor]:
    """What a model collects during training without learning it, as batch normalisation does."""
    kept = model.state_dict(keep_vars=True).values()
    return [each for each in kept if not isinstance(each, nn.Parameter)]
