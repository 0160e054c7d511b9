"""The fast memory of an entity network does what its plain reference does, gradients included."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.fast.slots import SlotWeights, plain_read, read

ROWS, SENTENCES, SLOTS, WIDTH = 5, 4, 3, 6
COUNTS = torch.tensor([2, 0, 4, 1, 4])


def random_inputs(rows: int = ROWS) -> list[Tensor]:
    torch.manual_seed(1)
    shapes = [(rows, SENTENCES, WIDTH)] * 2 + [(SLOTS, WIDTH)] * 2 + [(WIDTH, WIDTH), (WIDTH,)]
    return [torch.randn(shape, dtype=torch.float64).requires_grad_() for shape in shapes]


def test_memory_gates_and_gradients_are_those_of_the_reference() -> None:
    inputs = random_inputs()
    direction = torch.randn(ROWS, SLOTS, WIDTH, dtype=torch.float64)
    found = []
    for function in (plain_read, read):
        memory, gates = function(inputs[0], inputs[1], COUNTS, SlotWeights(*inputs[2:]))
        found.append((memory, gates, *torch.autograd.grad((memory * direction).sum(), inputs)))
    for expected, fast in zip(*found, strict=True):
        torch.testing.assert_close(fast, expected)


def test_a_single_row_leaves_the_keys_alone() -> None:
    inputs = [each.detach() for each in random_inputs(rows=1)]
    keys = inputs[2].clone()
    memory, _ = read(inputs[0], inputs[1], torch.tensor([4]), SlotWeights(*inputs[2:]))
    assert torch.equal(inputs[2], keys)
    assert not torch.equal(memory[0], keys)


def test_a_story_without_sentences_leaves_the_keys_as_memory() -> None:
    inputs = [each.detach() for each in random_inputs(rows=2)]
    memory, gates = read(inputs[0], inputs[1], torch.tensor([0, 0]), SlotWeights(*inputs[2:]))
    assert torch.equal(memory, inputs[2].expand(2, -1, -1))
    assert not gates.any()
