"""Tensors that several processes share, in files: each has some rows of every tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import torch
from safetensors import safe_open
from torch import Tensor, nn


@dataclass(frozen=True)
class Part:
    """What one of `size` processes has: consecutive rows, equally many, the last ones fewer."""

    rank: int
    size: int

    def rows(self, total: int) -> tuple[int, int]:
        """Start and stop, as torch.chunk and FSDP2 divide."""
        each = -(-total // self.size)
        return min(self.rank * each, total), min((self.rank + 1) * each, total)

    def file(self, name: str) -> str:
        return f"{name}-{self.rank + 1:05}-of-{self.size:05}.safetensors"


def own_tensors(model: nn.Module, group: Mapping[str, Tensor], first: bool) -> dict[str, Tensor]:
    """What a process saves of a group of tensors: what is not divided, such as counts of steps, is
    saved by the first one alone."""
    buffers = {name for name, _ in model.named_buffers()}
    return {
        name: tensor
        for name, tensor in group.items()
        if first or (tensor.dim() > 0 and name.rpartition("/")[2] not in buffers)
    }


def join_shards(files: Sequence[Path], part: Optional[Part] = None) -> dict[str, Tensor]:
    """The tensors of a group that was saved in parts: whole, or another part of each.

    A tensor that only the first file has was not divided. Rows that are not asked for are not read.
    """
    with ExitStack() as stack:
        shards = [stack.enter_context(safe_open(path, framework="pt")) for path in files]
        names = [set(shard.keys()) for shard in shards]
        found: dict[str, Tensor] = {}
        for name in sorted(set.union(*names)):
            if all(name in each for each in names[1:]):
                found[name] = _rows([shard.get_slice(name) for shard in shards], part)
            else:
                found[name] = shards[0].get_tensor(name).clone()
        return found


def _rows(slices: Sequence[Any], part: Optional[Part]) -> Tensor:
    """Rows of a tensor whose parts follow one another."""
    counts = [each.get_shape()[0] for each in slices]
    start, stop = (0, sum(counts)) if part is None else part.rows(sum(counts))
    found, offset = [], 0
    for each, count in zip(slices, counts, strict=True):
        low, high = max(start - offset, 0), min(stop - offset, count)
        if low < high:
            found.append(each[low:high])
        offset += count
    return torch.cat(found) if found else slices[0][0:0].clone()
