"""The tensors of a model by name; a shared one appears once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from regard.errors import RegardError


def collect(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers; a tied one appears under its first name only."""
    named: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            named[name] = tensor.detach()
    return named


@torch.no_grad()
def install(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors into a model of the same config."""
    own = collect(model)
    if own.keys() != tensors.keys():
        odd = sorted(own.keys() ^ tensors.keys())[0]
        raise RegardError(f"These weights belong to another model: '{odd}' is in only one of them.")
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape:
            raise RegardError(f"These weights belong to another model: '{name}' has another shape.")
        tensor.copy_(tensors[name])


def all_finite(tensors: Mapping[str, Tensor]) -> bool:
    return all(bool(tensor.isfinite().all()) for tensor in tensors.values())
