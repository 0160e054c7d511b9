"""Mixed precision in computations that are written by hand, which autocast does not look into."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor


def is_mixed(x: Tensor) -> bool:
    """Whether products on the device of x are rounded to a shorter type."""
    return torch.is_autocast_enabled(x.device.type)


def product_type(x: Tensor) -> torch.dtype:
    """The type in which large products with x are made."""
    return torch.get_autocast_dtype(x.device.type) if is_mixed(x) else x.dtype


def widened(x: Tensor) -> Tensor:
    """x in float32 if it was rounded to a shorter type; otherwise as it is."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def exactly(x: Tensor) -> AbstractContextManager[Any]:
    """A block in which nothing on the device of x is rounded to a shorter type."""
    return torch.autocast(x.device.type, enabled=False) if is_mixed(x) else nullcontext()
