"""The weights of another run that a run starts from: first.safetensors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from regard.errors import RegardError
from regard.files import writing
from regard.models.weights import collect
from regard.runs.folder import Run

FILE = "first.safetensors"


def save_first(run: Run, tensors: Mapping[str, Tensor]) -> str:
    """Write the weights, and return their hash, which data.json keeps."""
    data = safetensors.torch.save({name: each.contiguous() for name, each in tensors.items()})
    with writing(run.path / FILE) as stream:
        stream.write(data)
    return hashlib.sha256(data).hexdigest()


@torch.no_grad()
def install_first(run: Run, model: nn.Module) -> None:
    """Replace random weights by those the run was started from, if there are any."""
    start = run.facts("data").get("start")
    if start is None:
        return
    path, own = run.path / FILE, collect(model)
    try:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != start["sha256"]:
            raise RegardError(f"{path} is corrupt: restore it from a copy.")
        for name, tensor in safetensors.torch.load(data).items():
            own[name].copy_(tensor)
    except (OSError, SafetensorError, KeyError, TypeError, RuntimeError):
        raise RegardError(f"Cannot use {path}: restore it from a copy.") from None
