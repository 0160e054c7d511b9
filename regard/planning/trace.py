"""What one training step computes: its operations, and the memory that it needs at its peak.

FLOPs are counted by the formulas of torch.utils.flop_counter, completed by those of the CPU's own
kernels; bytes are those of the tensors that an operation reads and writes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Optional

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry


@dataclass(frozen=True)
class Operation:
    """One kernel: what it is, the FLOPs of its products, the bytes it moves, and whether its
    products are made in a shorter type than float32."""

    name: str
    flops: float
    moved: float
    short: bool = False


@dataclass
class Trace:
    """The operations of a step, and the most bytes that it held at once beyond those before it."""

    operations: list[Operation] = field(default_factory=list)
    peak: int = 0

    @property
    def flops(self) -> float:
        return sum(each.flops for each in self.operations)


class Tracing(TorchDispatchMode):
    """Inside this block, everything that torch computes is traced."""

    def __init__(self) -> None:
        super().__init__()
        self.trace = Trace()
        self._held = 0
        self._known = dict[int, Any]()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Optional[Any] = None
    ) -> Any:
        named: Mapping[str, Any] = kwargs or {}
        result = func(*args, **named)
        read, written = _tensors((args, named)), _tensors(result)
        known = {_address(each) for each in read}
        for each in written:
            if _address(each) not in known:
                self._hold(each)
        if not func.is_view:
            self.trace.operations.append(_operation(func, args, named, result, read, written))
        return result

    def _hold(self, tensor: Tensor) -> None:
        """Count a new piece of memory until it is freed."""
        opaque = tensor.layout is torch._mkldnn  # type: ignore[attr-defined]
        owner: Any = tensor if opaque else tensor.untyped_storage()
        size = _size(tensor) if opaque else owner.nbytes()
        address = _address(tensor)
        if address in self._known:
            return
        self._held += size
        self.trace.peak = max(self.trace.peak, self._held)

        def free(_: Any) -> None:
            self._held -= size
            del self._known[address]

        self._known[address] = weakref.ref(owner, free)


def _operation(
    func: Any,
    args: Sequence[Any],
    named: Mapping[str, Any],
    result: Any,
    read: list[Tensor],
    written: list[Tensor],
) -> Operation:
    flops = 0.0
    if func.name() in _FURTHER:
        flops = float(_FURTHER[func.name()](*args))
    elif func.overloadpacket in flop_registry:
        registered: Mapping[Any, Callable[..., Any]] = flop_registry
        flops = float(registered[func.overloadpacket](*args, **named, out_val=result))
    moved = {_address(each): _size(each) for each in (*read, *written)}
    short = any(each.dtype in (torch.bfloat16, torch.float16) for each in read)
    return Operation(func.name(), flops, float(sum(moved.values())), short)


def _tensors(values: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


def _address(tensor: Tensor) -> int:
    """The same for tensors that share memory; one in a layout of oneDNN's has its own."""
    opaque = tensor.layout is torch._mkldnn  # type: ignore[attr-defined]
    return id(tensor) if opaque else tensor.untyped_storage()._cdata


def _size(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _linear(x: Tensor, weight: Tensor, *rest: Any) -> int:
    return 2 * prod(x.shape) * int(weight.shape[0])


def _lstm(x: Tensor, by_input: Tensor, by_state: Tensor, *rest: Any) -> int:
    """x (T, B, I), weights (4H, I) and (4H, H)."""
    positions = prod(x.shape[:-1])
    return 2 * positions * (by_input.numel() + by_state.numel())


def _lstm_backward(x: Tensor, by_input: Tensor, by_state: Tensor, *rest: Any) -> int:
    """With respect to what is read and to the weights."""
    return 2 * _lstm(x, by_input, by_state)


def _attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> int:
    """Queries (B, H, T, K) and keys (B, H, S, K), S of them and their values."""
    return 2 * int(key.shape[2]) * (query.numel() + query.numel() // key.shape[3] * value.shape[3])


def _attention_backward(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> int:
    """The weights are computed again, then three gradients: five products instead of two."""
    return _attention(query, key, value) * 5 // 2


_FURTHER: dict[str, Callable[..., int]] = {
    "mkldnn::_linear_pointwise": _linear,
    "aten::mkldnn_rnn_layer": _lstm,
    "aten::mkldnn_rnn_layer_backward": _lstm_backward,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
}
"""FLOPs of kernels that the registry of torch does not know."""
