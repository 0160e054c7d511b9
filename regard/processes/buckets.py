"""Sums gradients over the processes while the backward pass still computes others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributed.distributed_c10d import Work
from torch.utils.hooks import RemovableHandle

from regard.processes.ranks import Ranks

BUCKET_BYTES = 4 * 2**20
"""Gradients that are summed together: fewer would wait for the network more often, more would begin
to travel later."""


@dataclass
class _Bucket:
    """Parameters whose gradients are summed together."""

    parameters: list[Tensor]
    missing: int = 0  # gradients that the backward pass has not computed yet


class Buckets:
    """Sums the gradients of parameters, the last ones first, since backward passes begin there.

    A bucket is sent off as soon as its gradients are complete and the ones before it are sent. So
    all processes send the same sums in the same order, whatever their batches are: a process
    without rows, or one whose batch did not fit in memory at first, sends late but never otherwise.
    The last bucket is sent by `finish` and takes further numbers along; a small model has no other.
    """

    def __init__(
        self, parameters: Sequence[Tensor], ranks: Ranks, size: int = BUCKET_BYTES
    ) -> None:
        self._ranks = ranks
        self._buckets = [_Bucket(each) for each in _divided(parameters, size)]
        self._sent: list[tuple[Tensor, Work]] = []
        self._listening = False
        self._hooks: list[RemovableHandle] = []
        for bucket in self._buckets[:-1]:
            for parameter in bucket.parameters:
                self._hooks.append(self._listen(parameter, bucket))

    def _listen(self, parameter: Tensor, bucket: _Bucket) -> RemovableHandle:
        def complete(_: Tensor) -> None:
            bucket.missing -= 1
            if self._listening:
                self._send_complete()

        handle: RemovableHandle = parameter.register_post_accumulate_grad_hook(complete)
        return handle

    @contextmanager
    def last_pass(self) -> Iterator[None]:
        """The backward pass in this block completes the gradients of the step."""
        for bucket in self._buckets:
            bucket.missing = len(bucket.parameters)
        self._listening = True
        try:
            yield
        finally:
            self._listening = False

    def finish(self, extra: Tensor) -> Tensor:
        """Give every parameter the sum of its gradients; returns the sum of `extra`."""
        for bucket in self._buckets[len(self._sent) : -1]:
            self._send(_gradients(bucket.parameters))
        self._send([*_gradients(self._buckets[-1].parameters), extra])
        for bucket, (flat, work) in zip(self._buckets, self._sent, strict=True):
            self._ranks.finish(work)
            own = bucket.parameters
            parts = flat[: sum(p.numel() for p in own)].split([p.numel() for p in own])
            for parameter, part in zip(own, parts, strict=True):
                parameter.grad = part.view_as(parameter)
        summed = self._sent[-1][0][-extra.numel() :]
        self._sent.clear()
        return summed

    def remove(self) -> None:
        """Let go of the parameters, and of sums that are under way."""
        for hook in self._hooks:
            hook.remove()
        self._sent.clear()

    def _send_complete(self) -> None:
        for bucket in self._buckets[len(self._sent) : -1]:
            if bucket.missing:
                return
            self._send(_gradients(bucket.parameters))

    def _send(self, tensors: Sequence[Tensor]) -> None:
        flat = torch.cat([each.flatten() for each in tensors])
        self._sent.append((flat, self._ranks.begin_all_reduce(flat)))


def _gradients(parameters: Sequence[Tensor]) -> list[Tensor]:
    return [each.grad if each.grad is not None else torch.zeros_like(each) for each in parameters]


def _divided(parameters: Sequence[Tensor], size: int) -> list[list[Tensor]]:
    """Buckets of about so many bytes, the last parameters first."""
    found: list[list[Tensor]] = [[]]
    held = 0
    for parameter in reversed(parameters):
        if held >= size:
            found.append([])
            held = 0
        found[-1].append(parameter)
        held += parameter.numel() * parameter.element_size()
    return found
