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
            named[name] = _own_part(tensor.detach())
    return named


def _own_part(tensor: Tensor) -> Tensor:
    """What this process has of a tensor that is sharded, which shares its memory; any other tensor
    as it is."""
    if type(tensor) is Tensor:
        return tensor
    from torch.distributed.tensor import DTensor  # slow to import, and rarely there

    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


@torch.no_grad()
def install(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors into a model of the same config."""
    own = collect(model)
    if own.keys() != tensors.keys():
        odd = sorted(own.keys() ^ tensors.keys())[0]
        raise RegardError(f"These weights belong to another model: '{odd}' is in only one of them.")
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape:
            raise RegardError(
                f"These weights belong to another model: '{name}' has a different shape."
            )
        tensor.copy_(tensors[name])


def all_finite(tensors: Mapping[str, Tensor]) -> bool:
    """Asked once for all of them: every answer is awaited from a device."""
    found = [tensor.isfinite().all() for tensor in tensors.values()]
    return not found or bool(torch.stack(found).all())
