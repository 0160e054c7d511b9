"""The heads of a Neural Turing Machine: where in a memory they read and write, and what."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.nn.linear import linear
from regard.nn.probe import Watched

BLANK = 1e-6
"""Every number of an empty memory. With the same small constant everywhere training is faster and
more reliable than with a random or a learned memory (Collier & Beel 2018, arXiv 1807.08518)."""

STEERING = 0.1
"""Scales the initial weights of all that steers the heads, except their keys. At first the heads
then move in the same way whatever is read, which makes moving step by step easy to find."""

STRENGTH = 10.0
"""Added to the initial strengths of read heads that start by looking up. The cosines of different
random vectors of 20 numbers are up to about 0.5, and a hundred slots are blank: with less, a slot
whose cosine is 1 would not stand out."""

ONWARDS = 2.0
"""Added to the initial logit of moving by one slot, with which 0.79 of the weight moves onwards."""

_TINY = 1e-8


class Heads(nn.Module):
    """The read and write heads (Graves et al. 2014, arXiv 1410.5401, section 3).

    A head finds its weights over the slots of the memory in four steps. For each head a controller
    gives a key k, its strength b, a gate g, a distribution s over shifts and a sharpness y:

    content       c = softmax(b cos(k, M))
    interpolation w = g c + (1 - g) w'        w' are its weights one step before
    shift         w(i) = sum_j w(j) s(i - j)  circular
    sharpening    w = w^y / sum w^y

    The read heads come first. All heads look at the memory as it was before the step, so a read
    head does not see what is written in the same step.

    With `lookup`, read heads start by looking up what they are given: their keys are what the first
    write head adds, so that a slot written for the same input matches, and their strengths are
    large. All heads start by moving on by one slot per step. Without it a search by content hardly
    ever finds anything at first, so there is nothing from which to learn it.
    """

    def __init__(
        self, inputs: int, reads: int, writes: int, slot_width: int, shift: int, lookup: bool
    ) -> None:
        super().__init__()
        heads = reads + writes
        self.reads, self.writes, self.shift = reads, writes, shift
        self.vectors = heads + writes, slot_width  # keys and additions
        self.gates = heads + writes * slot_width  # interpolation and erasing
        self.sizes = prod(self.vectors), self.gates, 2 * heads, heads * (2 * shift + 1)
        self.emit = linear(inputs, sum(self.sizes))
        self.emit.weight.detach()[self.sizes[0] :] *= STEERING
        if lookup:
            self._start_by_looking_up()
        self.read_weights = Watched(("steps", "memory"))
        self.write_weights = Watched(("steps", "written"))

    def _start_by_looking_up(self) -> None:
        vectors = self.emit.weight.detach()[: self.sizes[0]].unflatten(0, self.vectors)
        vectors[: self.reads] = vectors[self.reads + self.writes]
        _, _, strengths, shifts = self.emit.bias.detach().split(self.sizes)
        strengths[: self.reads] += STRENGTH
        shifts.unflatten(0, (self.reads + self.writes, -1))[:, self.shift + 1] += ONWARDS

    def start(self, memory: Tensor) -> Tensor:
        """The weights (R, H, N) before the first step: each head is at the first slot."""
        first = memory.new_zeros(len(memory), self.reads + self.writes, memory.shape[1])
        first[:, :, 0] = 1.0
        return first

    def forward(self, h: Tensor, memory: Tensor, before: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step of the controller's h (R, D), the memory (R, N, M) and the weights (R, H, N).

        Gives the weights, what the read heads found (R, reads x M), and the memory after writing.
        """
        heads = self.reads + self.writes
        vectors, gates, strengths, shifts = self.emit(h).split(self.sizes, dim=-1)
        keys, added = vectors.tanh().unflatten(1, self.vectors).split([heads, self.writes], dim=1)
        g, erased = gates.sigmoid().split([heads, self.gates - heads], dim=1)
        strength, sharpness = functional.softplus(strengths).unflatten(1, (2, heads, 1)).unbind(1)
        s = shifts.unflatten(1, (heads, -1)).softmax(dim=-1)
        content = (strength * cosines(keys, memory)).softmax(dim=-1)
        weights = torch.lerp(before, content, g[:, :, None])
        weights = sharpen(rotate(weights, s, self.shift), 1 + sharpness)
        reading, writing = weights.split([self.reads, self.writes], dim=1)
        found = torch.bmm(reading, memory).flatten(1)
        return weights, found, write(memory, writing, erased.view_as(added), added)

    def record(self, steps: list[Tensor]) -> None:
        """Give the probes, if set, the weights (R, H, N) of each step of a pass."""
        if self.read_weights.probe is not None:
            together = torch.stack(steps, dim=2)  # (R, H, T, N)
            self.read_weights.record_weights(together[:, : self.reads])
            self.write_weights.record_weights(together[:, self.reads :])


def cosines(keys: Tensor, memory: Tensor) -> Tensor:
    """The cosines (R, H, N) between keys (R, H, M) and slots (R, N, M)."""
    of_keys = torch.linalg.vector_norm(keys, dim=2, keepdim=True)
    of_slots = torch.linalg.vector_norm(memory, dim=2)[:, None]
    return torch.bmm(keys, memory.transpose(1, 2)) / (of_keys * of_slots + _TINY)


def rotate(weights: Tensor, shifts: Tensor, most: int) -> Tensor:
    """Weights (R, H, N) moved around the ring of slots by -most ... most slots, with the
    probabilities `shifts` (R, H, 2 most + 1)."""
    slots = weights.shape[2]
    ring = torch.cat([weights[:, :, slots - most :], weights, weights[:, :, :most]], dim=2)
    parts = shifts.split(1, dim=2)
    moved = ring[:, :, 2 * most :] * parts[0]
    for number, part in enumerate(parts[1:], 1):
        start = 2 * most - number
        moved = torch.addcmul(moved, ring[:, :, start : start + slots], part)
    return moved


def sharpen(weights: Tensor, power: Tensor) -> Tensor:
    """w^y / sum w^y of weights (R, H, N) and powers (R, H, 1), by logarithms: nothing overflows,
    and the gradient at a weight of 0 is finite."""
    return (power * (weights + 1e-16).log()).softmax(dim=-1)


def write(memory: Tensor, weights: Tensor, erased: Tensor, added: Tensor) -> Tensor:
    """M'(i) = M(i) * prod_h (1 - w_h(i) e_h) + sum_h w_h(i) a_h, of memory (R, N, M), weights
    (R, H, N), and erased and added (R, H, M)."""
    kept = memory
    for w, e in zip(weights.unbind(1), erased.unbind(1), strict=True):
        kept = torch.addcmul(kept, kept * w[:, :, None], e[:, None], value=-1)
    return torch.baddbmm(kept, weights.transpose(1, 2), added)
