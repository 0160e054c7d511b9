"""What a decoder remembers between two calls, in a form that search can handle blindly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Optional, Union

from torch import Tensor

from regard.nn.fast.cache import Growing

Nested = Union[Tensor, Growing, tuple["Nested", ...]]
"""Tensors in nested tuples; the first axis of every tensor is the batch."""


def each(nested: Nested, change: Callable[[Tensor], Tensor]) -> Nested:
    """The same nesting with every tensor changed."""
    if isinstance(nested, Tensor):
        return change(nested)
    if isinstance(nested, Growing):
        return Growing.of(change(nested.now))
    return tuple(each(part, change) for part in nested)


@dataclass(frozen=True)
class State:
    """Opaque outside the decoder that made it.

    `shared` has B rows, one a sentence, the same for all its hypotheses, so a beam never copies
    it: what was read from the source, and what a decoder chooses to keep once a sentence. `past`
    was read from the target so far: B x copies rows, each follows its hypothesis. `length` is the
    number of target tokens read.
    """

    shared: Nested
    past: Nested
    length: int = 0
    copies: int = 1

    def advance(self, past: Nested, by: int, shared: Optional[Nested] = None) -> State:
        """The state after `by` more tokens."""
        shared = self.shared if shared is None else shared
        return replace(self, shared=shared, past=past, length=self.length + by)

    def spread(self, copies: int) -> State:
        """Each hypothesis becomes `copies` neighbours."""
        past = each(self.past, lambda tensor: tensor.repeat_interleave(copies, dim=0))
        return replace(self, past=past, copies=self.copies * copies)

    def select(self, rows: Tensor) -> State:
        """Hypotheses by row, as a beam reorders them; a sentence keeps its number of rows."""
        return replace(self, past=each(self.past, lambda tensor: tensor.index_select(0, rows)))

    def keep(self, rows: Tensor) -> State:
        """Sentences by row, with all their hypotheses: finished ones leave the batch."""

        def keep_past(tensor: Tensor) -> Tensor:
            together = tensor.unflatten(0, (-1, self.copies))
            return together.index_select(0, rows).flatten(0, 1)

        return replace(
            self,
            shared=each(self.shared, lambda tensor: tensor.index_select(0, rows)),
            past=each(self.past, keep_past),
        )
