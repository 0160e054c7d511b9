"""The heads of a Turing machine: each equation against a plain reading of the paper."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard.nn.addressing import BLANK, Heads, cosines, rotate, sharpen, write


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_cosines_are_those_of_each_key_and_slot() -> None:
    keys, memory = random(2, 3, 5), random(2, 7, 5, seed=2)
    expected = torch.cosine_similarity(keys[:, :, None], memory[:, None], dim=-1)
    torch.testing.assert_close(cosines(keys, memory), expected)


@pytest.mark.parametrize("most", [1, 2])
def test_weights_move_around_the_ring(most: int) -> None:
    slots = 7
    weights = random(2, 3, slots).softmax(dim=-1)
    shifts = random(2, 3, 2 * most + 1, seed=2).softmax(dim=-1)
    expected = torch.zeros_like(weights)
    for here in range(slots):
        for number, by in enumerate(range(-most, most + 1)):
            expected[:, :, (here + by) % slots] += weights[:, :, here] * shifts[:, :, number]
    torch.testing.assert_close(rotate(weights, shifts, most), expected)


def test_the_last_shift_is_one_slot_onwards() -> None:
    weights = torch.tensor([[[0.0, 0.0, 1.0]]])
    onwards = torch.tensor([[[0.0, 0.0, 1.0]]])
    assert rotate(weights, onwards, 1).tolist() == [[[1.0, 0.0, 0.0]]]


def test_sharpening_is_a_power_that_sums_to_one() -> None:
    weights = random(2, 3, 5).softmax(dim=-1)
    power = 1 + random(2, 3, 1, seed=2).exp()
    expected = weights**power / (weights**power).sum(dim=-1, keepdim=True)
    torch.testing.assert_close(sharpen(weights, power), expected)


def test_sharpening_zeros_has_a_finite_gradient() -> None:
    weights = torch.tensor([[[0.0, 1.0, 0.0]]], requires_grad=True)
    power = torch.tensor([[[1.0]]], requires_grad=True)
    sharpen(weights, power)[0, 0, 0].backward()
    assert weights.grad is not None
    assert power.grad is not None
    assert bool(weights.grad.isfinite().all())
    assert bool(power.grad.isfinite().all())


def test_what_is_erased_multiplies_and_what_is_added_adds() -> None:
    memory, weights = random(2, 5, 4), random(2, 3, 5, seed=2).softmax(dim=-1)
    erased, added = random(2, 3, 4, seed=3).sigmoid(), random(2, 3, 4, seed=4)
    expected = memory.clone()
    for head in range(3):
        expected *= 1 - weights[:, head, :, None] * erased[:, head, None]
    for head in range(3):
        expected += weights[:, head, :, None] * added[:, head, None]
    torch.testing.assert_close(write(memory, weights, erased, added), expected)


def parameters_of(heads: Heads, h: Tensor) -> tuple[Tensor, ...]:
    """What the controller gives the heads, taken apart one after the other."""
    count, width = heads.reads + heads.writes, heads.vectors[1]
    raw, start, found = heads.emit(h)[0], 0, []
    for size in (count * width, heads.writes * width, count, heads.writes * width, count, count):
        found.append(raw[start : start + size])
        start += size
    return (*found, raw[start:])


def test_a_step_is_that_of_the_paper() -> None:
    """Slot by slot and head by head, for one row."""
    reads, writes, width, slots = 2, 1, 4, 6
    torch.manual_seed(1)
    heads = Heads(5, reads, writes, width, shift=1, lookup=False)
    torch.nn.init.normal_(heads.emit.weight)
    h, memory = random(1, 5), random(1, slots, width, seed=2)
    before = random(1, reads + writes, slots, seed=3).softmax(dim=-1)
    with torch.no_grad():
        weights, found, after = heads(h, memory, before)
        keys, added, gates, erased, strengths, sharpness, shifts = parameters_of(heads, h)
    for head in range(reads + writes):
        key = keys[head * width : (head + 1) * width].tanh()
        strength = math.log1p(math.exp(strengths[head]))
        similar = [float(torch.cosine_similarity(key, slot, dim=0)) for slot in memory[0]]
        total = sum(math.exp(strength * each) for each in similar)
        gate = float(gates[head].sigmoid())
        mixed = [
            gate * math.exp(strength * each) / total + (1 - gate) * float(old)
            for each, old in zip(similar, before[0, head], strict=True)
        ]
        back, stay, on = shifts[3 * head : 3 * head + 3].softmax(dim=0).tolist()
        moved = [
            back * mixed[(i + 1) % slots] + stay * mixed[i] + on * mixed[i - 1]
            for i in range(slots)
        ]
        power = 1 + math.log1p(math.exp(sharpness[head]))
        sharp = torch.tensor([each**power for each in moved])
        torch.testing.assert_close(weights[0, head], sharp / sharp.sum(), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(found.view(reads, width), weights[0, :reads] @ memory[0])
    kept = memory[0] * (1 - weights[0, reads][:, None] * erased.sigmoid())
    torch.testing.assert_close(after[0], kept + weights[0, reads][:, None] * added.tanh())


@pytest.mark.parametrize("lookup", [True, False])
def test_heads_that_look_up_find_what_was_written_for_the_same_input(lookup: bool) -> None:
    """Without any training, a read head goes to the slot after it."""
    torch.manual_seed(1)
    heads = Heads(30, 2, 1, 20, shift=1, lookup=lookup)
    given, slots = random(8, 30), 100
    memory = torch.full((8, slots, 20), BLANK)
    with torch.no_grad():
        for slot, h in enumerate(given):
            memory[:, 10 + slot] = heads.emit(h)[60:80].tanh()
        weights, _, _ = heads(given, memory, heads.start(memory))
    found = weights[:, :2, 10:].argmax(dim=2)
    expected = torch.arange(1, 9)[:, None].expand(-1, 2)
    assert torch.equal(found, expected) == lookup


def test_the_first_step_in_an_empty_memory_has_a_finite_gradient() -> None:
    torch.manual_seed(1)
    heads = Heads(5, 1, 1, 4, shift=1, lookup=False)
    memory = torch.full((2, 6, 4), BLANK)
    weights = heads.start(memory)
    assert weights.sum(dim=-1).tolist() == [[1, 1], [1, 1]]
    for _ in range(3):
        weights, found, memory = heads(random(2, 5), memory, weights)
    (found.sum() + memory.square().sum()).backward()
    grad = heads.emit.weight.grad
    assert grad is not None
    assert bool(grad.isfinite().all())
    assert float(grad.norm()) < 1e3
