"""A device made in Python, to find what works on the CPU only without having an accelerator.

A tensor on it wraps a CPU tensor and reports another device. Every operation runs on the wrapped
tensors, after it was checked: operands on two devices, a CPU generator, and kernels that only the
CPU has are refused, as CUDA would. It cannot tell which kernels another device lacks.

Whatever would make the CPU wait for a real device is counted in `waits`: numbers that Python asks
for, results whose size depends on values, and copies to the CPU.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Optional

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("pretend")
# Python subclasses and inference tensors do not mix, and without swapping tied weights come apart.
torch.inference_mode = lambda mode=True: torch.no_grad() if mode else nullcontext()
torch.__future__.set_swap_module_params_on_conversion(True)

DEVICE = torch.device("pretend:0")
CPU_ONLY = ("mkldnn", "quantized", "onednn")

aten = torch.ops.aten
BETWEEN_DEVICES = {aten.copy_.default, aten._to_copy.default}
INDEXING = {
    aten.index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}
SIZED_BY_VALUES = {
    aten.nonzero.default,
    aten.masked_select.default,
    aten.bincount.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.repeat_interleave.Tensor,
}

waits = Counter[str]()
"""How often each line of regard would have waited for the device."""


def wait() -> None:
    frame: Any = sys._getframe(1)
    while frame is not None and "/regard/" not in frame.f_code.co_filename:
        frame = frame.f_back
    place = "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
    waits[place.rpartition("/regard/")[2]] += 1


def waits_for(func: Any, args: Sequence[Any], leaving: bool) -> bool:
    if leaving or func is aten._local_scalar_dense.default or func in SIZED_BY_VALUES:
        return True
    if func is aten.copy_.default:
        return not isinstance(args[0], PretendTensor)
    if func not in INDEXING:
        return False
    indices = [each for each in args[1] if each is not None]
    return any(each.dtype in (torch.bool, torch.uint8) for each in indices)


class PretendTensor(Tensor):
    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> PretendTensor:
        made: PretendTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=DEVICE,
        )
        return made

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    def tolist(self) -> Any:
        wait()
        return self.inner.tolist()

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError("a tensor on a device has no numpy(): move it to the CPU first")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"PretendTensor({self.inner!r})"

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Optional[Any] = None
    ) -> Any:
        return run(func, args, kwargs or {})


class Pretending(TorchDispatchMode):
    """Inside this block tensors can be made on the device and moved to it."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Optional[Any] = None
    ) -> Any:
        return run(func, args, kwargs or {})


def run(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    ours = [tensor for tensor in tensors if isinstance(tensor, PretendTensor)]
    asked = kwargs.get("device")
    here = asked is not None and torch.device(asked).type == DEVICE.type
    if not ours and not here:
        return func(*args, **kwargs)
    if func is aten._fused_sdp_choice.default:
        return 0  # the kernel that is composed of plain operations
    check(func, args, kwargs, tensors)
    leaving = asked is not None and not here
    if waits_for(func, args, leaving):
        wait()
    options = {**kwargs, "device": torch.device("cpu")} if here else kwargs
    result = func(*tree_map(_unwrapped, args), **tree_map(_unwrapped, options))
    if leaving or func is aten._local_scalar_dense.default:
        return result
    if func is aten.copy_.default:
        return args[0]
    known = {id(tensor.inner): tensor for tensor in ours}  # an operation in place returns its own

    def wrap(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return known[id(value)] if id(value) in known else PretendTensor(value)

    return tree_map(wrap, result)


def check(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: Sequence[Tensor]
) -> None:
    """Refuse what a real device would refuse."""
    if func.namespace in CPU_ONLY:
        raise RuntimeError(f"{func} exists on the CPU only")
    if kwargs.get("generator") is not None:
        raise RuntimeError(f"{func} was given a generator of the CPU")
    if func in BETWEEN_DEVICES or (func in INDEXING and isinstance(args[0], PretendTensor)):
        return  # CUDA takes indices from the CPU, too
    others = [each for each in tensors if not isinstance(each, PretendTensor) and each.dim() > 0]
    if others and len(others) < len(tensors):
        shapes = [tuple(each.shape) for each in others]
        raise RuntimeError(f"{func} mixes devices: {shapes} are on the CPU")


def _unwrapped(value: Any) -> Any:
    return value.inner if isinstance(value, PretendTensor) else value
