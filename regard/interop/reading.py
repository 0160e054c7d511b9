"""Files of other tools, checked before anything is made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.errors import UsageError
from regard.processes.memory import free_memory

MAX_TEXT_BYTES = 256 * 2**20
"""Of a JSON file or a SentencePiece model; those of real models have a few megabytes."""


def read_bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MAX_TEXT_BYTES:
            raise UsageError(
                f"{path} has {size / 2**20:,.0f} MB, far more than such a file needs: check what "
                "it is."
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{path} is missing: give the complete folder of a model.") from None
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None


def read_object(path: Path) -> dict[str, Any]:
    """A file with a JSON object."""
    try:
        value = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError(f"{path} is damaged: it is not a JSON object; download it again.")
    return value


class WeightsFile:
    """A file of tensors: shapes are known before anything is loaded.

    A pytorch_model.bin is a pickle, of which torch reads tensors alone: whatever else it asks for
    is refused, and nothing of it runs.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pickled = self._mapped() if path.suffix == ".bin" else None
        if self._pickled is not None:
            self.shapes = {name: tuple(each.shape) for name, each in self._pickled.items()}
            return
        try:
            with safe_open(path, "pt") as file:
                self.shapes = {
                    name: tuple(file.get_slice(name).get_shape())
                    for name in file.keys()  # noqa: SIM118
                }
        except (OSError, SafetensorError) as error:
            raise UsageError(f"{path} is damaged ({error}): download it again.") from None

    def _mapped(self) -> dict[str, Tensor]:
        """The tensors of a pickle, not read into memory yet."""
        try:
            found = torch.load(self.path, map_location="cpu", weights_only=True, mmap=True)
        except Exception:  # whatever a damaged or malicious file provokes
            found = None
        if not isinstance(found, dict) or not all(
            isinstance(name, str) and isinstance(each, Tensor) for name, each in found.items()
        ):
            raise UsageError(
                f"{self.path} is not a file of tensors alone, or is damaged: download it again, or "
                "look for a model.safetensors."
            )
        return found

    def check(self, wanted: Mapping[str, Sequence[int]]) -> None:
        """Refuse a file without one of these tensors, or with one of another shape."""
        for name, shape in wanted.items():
            if name not in self.shapes:
                raise UsageError(f"{self.path} has no tensor {name}: {_advice(name)}.")
            if self.shapes[name] != tuple(shape):
                raise UsageError(
                    f"{name} in {self.path} has the shape {list(self.shapes[name])}, and "
                    f"config.json implies {list(shape)}: these files are not of the same model."
                )
        free, needed = free_memory(), 4 * 3 * sum(map(_count, wanted.values()))
        if free is not None and needed > free:
            raise UsageError(
                f"{self.path} needs about {needed / 2**30:.1f} GB of memory, and only "
                f"{free / 2**30:.1f} GB are free: use a machine with more."
            )

    def load(self, names: Sequence[str]) -> dict[str, Tensor]:
        """These tensors in 32 bits."""
        if self._pickled is not None:
            tensors = {name: self._pickled[name].float().clone() for name in names}
        else:
            tensors = self._read(names)
        for name, tensor in tensors.items():
            if not bool(tensor.isfinite().all()):
                raise UsageError(f"{name} in {self.path} has values that are not finite.")
        return tensors

    def _read(self, names: Sequence[str]) -> dict[str, Tensor]:
        try:
            with safe_open(self.path, "pt") as file:
                return {name: file.get_tensor(name).float() for name in names}
        except (OSError, SafetensorError) as error:
            raise UsageError(f"{self.path} is damaged ({error}): download it again.") from None


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _advice(name: str) -> str:
    if "decoder" in name and "self_attn" in name:
        return "decoders without self-attention, such as SSRU ones, cannot be imported"
    return "it is not a complete Marian model"
