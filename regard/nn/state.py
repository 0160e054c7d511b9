"""What an encoder hands to a decoder, and what a decoder remembers between two calls, in a form
that search can handle without looking inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Optional, Union, cast

from torch import Tensor
from typing_extensions import TypeVar

from regard.nn.fast.cache import Growing

Nested = Union[Tensor, Growing, tuple["Nested", ...]]
"""Tensors in nested tuples, named or not; the first axis of every tensor is the batch."""

N = TypeVar("N", bound=Nested)
Shared = TypeVar("Shared", bound=Nested, default=Any)
Past = TypeVar("Past", bound=Nested, default=Any)


def each(nested: N, change: Callable[[Tensor], Tensor]) -> N:
    """The same nested tuples with every tensor changed; named tuples keep their type."""
    return cast(N, _each(nested, change))


def _each(nested: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(nested, Tensor):
        return change(nested)
    if isinstance(nested, Growing):
        return Growing.of(change(nested.now))
    parts = [_each(part, change) for part in nested]
    return tuple(parts) if type(nested) is tuple else type(nested)(*parts)


@dataclass(frozen=True)
class Encoded:
    """What an encoder made of the source: output (B, S, D), mask (B, S), false at padding, and
    `final`, its own state after the last token, for decoders that continue from there."""

    output: Tensor
    mask: Tensor
    final: Nested = ()


@dataclass(frozen=True)
class State(Generic[Shared, Past]):
    """Where a decoder is in its target; opaque outside the decoder that made it.

    `shared` has B rows, one per sentence. It is the same for all hypotheses of a sentence, so a
    beam never copies it: what was read from the source, and what a decoder chooses to keep once per
    sentence. `past` was read from the target so far: B x copies rows, one per hypothesis.
    `candidates` is what the output keeps of the source, B rows. `length` is the number of target
    tokens read.
    """

    shared: Shared
    past: Past
    length: int = 0
    copies: int = 1
    candidates: Nested = ()

    def advance(self, past: Past, by: int, shared: Optional[Shared] = None) -> State[Shared, Past]:
        """The state after `by` more tokens."""
        shared = self.shared if shared is None else shared
        return replace(self, shared=shared, past=past, length=self.length + by)

    def spread(self, copies: int) -> State[Shared, Past]:
        """Each hypothesis becomes `copies` neighbours."""
        past = each(self.past, lambda tensor: tensor.repeat_interleave(copies, dim=0))
        return replace(self, past=past, copies=self.copies * copies)

    def select(self, rows: Tensor) -> State[Shared, Past]:
        """Hypotheses by row, as a beam reorders them; a sentence keeps its number of rows."""
        return replace(self, past=each(self.past, lambda tensor: tensor.index_select(0, rows)))

    def keep(self, rows: Tensor) -> State[Shared, Past]:
        """Sentences by row, with all their hypotheses: finished ones leave the batch."""

        def keep_shared(tensor: Tensor) -> Tensor:
            return tensor.index_select(0, rows)

        def keep_past(tensor: Tensor) -> Tensor:
            by_sentence = tensor.unflatten(0, (-1, self.copies))
            return by_sentence.index_select(0, rows).flatten(0, 1)

        return replace(
            self,
            shared=each(self.shared, keep_shared),
            past=each(self.past, keep_past),
            candidates=each(self.candidates, keep_shared),
        )
