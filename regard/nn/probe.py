"""Looking inside: attention keeps no weights unless a probe is set, so the fast path stays fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal, Optional

from torch import Tensor, nn

Axis = Literal["source", "copied", "target", "read", "steps", "memory", "written", "sentences"]
"""What the rows or columns of attention weights are: source positions, where they are read or where
they are copied from; target positions; tokens a decoder has read; steps of a machine, one per
source position and then one per target position; slots of a memory, where they are read or where
they are written; sentences of a document."""


class Watched(nn.Module):
    """A module that passes its attention weights to a probe, if one is set.

    `looks` names the axes of the weights: what attends, and what it attends to.
    """

    normalised: ClassVar[bool] = True
    """Whether the weights of a position sum to 1."""

    def __init__(self, looks: tuple[Axis, Axis]) -> None:
        super().__init__()
        self.looks = looks
        self.probe: Optional[list[Tensor]] = None

    def record_weights(self, weights: Optional[Tensor]) -> None:
        """Give a probe, if one is set, the weights (B, H, T, S) that were used."""
        if self.probe is not None and weights is not None:
            self.probe.append(weights.detach())


def watched(model: nn.Module) -> dict[str, Watched]:
    """Every attention inside by module name, in the order of the layers."""
    return {name: m for name, m in model.named_modules() if isinstance(m, Watched)}


@contextmanager
def capture(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the weights (B, H, T, S) of every attention inside, by module name, pass by pass."""
    modules = watched(model)
    weights: dict[str, list[Tensor]] = {name: [] for name in modules}
    for name, module in modules.items():
        module.probe = weights[name]
    try:
        yield weights
    finally:
        for module in modules.values():
            module.probe = None
