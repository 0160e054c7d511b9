"""Gradients of batches that may not fit in memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from torch import Tensor

from regard.data.batch import Batch
from regard.errors import RegardError
from regard.models.base import Model
from regard.processes.devices import Precision
from regard.processes.memory import out_of_memory
from regard.training.precision import training_loss


class Halving:
    """Computes the gradients of a step; batches that do not fit in memory are halved until they do.

    Halving changes only the speed of a step and its dropout masks.
    """

    def __init__(
        self,
        model: Model,
        precision: Precision,
        note: Callable[[str], None],
        last_pass: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`last_pass` surrounds the backward pass that completes the gradients."""
        self.model = model
        self.precision = precision
        self.note = note
        self.last_pass = last_pass

    def backward(self, batches: list[Batch], tokens: int) -> list[Tensor]:
        """Add the gradients of the summed loss divided by `tokens`; returns the summed nll of each
        batch, as scalars on the device of the model, which need not be awaited here."""
        try:
            return self._backward([batch for batch in batches if len(batch)], tokens)
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

    def _backward(self, batches: list[Batch], tokens: int) -> list[Tensor]:
        found = []
        for left, batch in zip(reversed(range(len(batches))), batches, strict=True):
            loss = training_loss(self.model, batch, self.precision)
            with nullcontext() if left else self.last_pass():
                (loss.total / tokens).backward()
            found.append(loss.nll.sum())
        return found


def _halves(batch: Batch) -> list[Batch]:
    middle = len(batch) // 2
    return [batch.rows(0, middle), batch.rows(middle)]
