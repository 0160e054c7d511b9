"""What a decoder remembers between two calls, in a form that search can handle blindly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Optional, Union

import torch
from torch import Tensor

Nested = Union[Tensor, "Growing", tuple["Nested", ...]]
"""Tensors in nested tuples; the first axis of every tensor is the batch."""


def each(tree: Nested, change: Callable[[Tensor], Tensor]) -> Nested:
    """The same tree with every tensor changed."""
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, Growing):
        return Growing.of(change(tree.now))
    return tuple(each(branch, change) for branch in tree)


SPARE = 8
"""How many more times there is room in any case; beyond that, room for a quarter more."""


@dataclass(frozen=True)
class Growing:
    """A tensor (B, H, n, K) that gets more places along its third axis, without a copy as long as
    there is room for them.

    Each stage stays as it was. The first that grows from a stage takes the room after it; whoever
    grows from that stage too is given room of its own.
    """

    room: Tensor  # (B, H, n or more, K)
    length: int
    taken: list[int]  # how much of the room has been written: one number for all who share it

    @staticmethod
    def of(tensor: Tensor) -> Growing:
        return Growing(tensor, tensor.shape[2], [tensor.shape[2]])

    @property
    def now(self) -> Tensor:
        return self.room[:, :, : self.length]

    def append(self, more: Tensor) -> Growing:
        """more (B, H, m, K)."""
        if torch.is_grad_enabled():  # what is written over has no gradient
            return Growing.of(torch.cat([self.now, more], dim=2))
        room, taken, length = self.room, self.taken, self.length + more.shape[2]
        if taken[0] > self.length or length > room.shape[2]:
            places = length + max(SPARE * more.shape[2], length // 4)
            room, taken = room.new_empty(*room.shape[:2], places, room.shape[3]), [0]
            room[:, :, : self.length] = self.now
        room[:, :, self.length : length] = more
        taken[0] = length
        return Growing(room, length, taken)


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
