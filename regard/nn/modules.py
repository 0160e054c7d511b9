"""A list of modules that knows the type of what it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, cast

from torch import nn

M = TypeVar("M", bound=nn.Module)


class Modules(nn.ModuleList, Generic[M]):
    """torch's ModuleList gives plain Modules back; this one gives back what was put in."""

    def __init__(self, modules: Iterable[M]) -> None:
        super().__init__(modules)

    def __iter__(self) -> Iterator[M]:
        return cast(Iterator[M], super().__iter__())
