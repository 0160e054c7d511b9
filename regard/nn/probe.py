"""Looking inside: attention keeps no weights unless a probe is set, so the fast path stays fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from torch import Tensor, nn


class Watched(nn.Module):
    """A module that hands its attention weights to a probe, if one is set."""

    across: bool = False  # whether it looks from the target at the source

    def __init__(self) -> None:
        super().__init__()
        self.probe: Optional[list[Tensor]] = None


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
