"""Gradients of batches that may not fit in memory."""

from __future__ import annotations

from collections.abc import Callable

from regard.data.batch import Batch
from regard.errors import RegardError
from regard.models.base import Model
from regard.processes.memory import out_of_memory


class Halving:
    """Computes the gradients of a step; batches that do not fit in memory are halved until they do.

    Halving changes only the speed of a step and its dropout masks.
    """

    def __init__(self, model: Model, note: Callable[[str], None]) -> None:
        self.model = model
        self.note = note

    def backward(self, batches: list[Batch], tokens: int) -> float:
        """Add the gradients of the summed loss divided by `tokens`; returns the summed nll."""
        try:
            return sum(self._backward_one(batch, tokens) for batch in batches)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            if max(len(batch) for batch in batches) < 2:
                raise RegardError(
                    "Not enough memory for even a single pair: lower batch.max_length or the "
                    "size of the model, and start a new run."
                ) from None
        self.model.zero_grad(set_to_none=True)
        self.note("A batch did not fit in memory; computing it in halves.")
        smaller = [half for batch in batches for half in _halves(batch) if len(half)]
        return self.backward(smaller, tokens)

    def _backward_one(self, batch: Batch, tokens: int) -> float:
        if not len(batch):
            return 0.0
        loss = self.model(batch)
        (loss.total / tokens).backward()
        return float(loss.nll.sum())


def _halves(batch: Batch) -> list[Batch]:
    middle = len(batch) // 2
    return [batch.rows(0, middle), batch.rows(middle)]
