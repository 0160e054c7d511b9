"""The cache that grows in place equals concatenation, and its stages are independent."""

from __future__ import annotations

import torch

from regard.nn.fast.cache import Growing, append, current, plain_append
from regard.nn.state import each


def numbers(first: int, count: int) -> torch.Tensor:
    """(2, 3, count, 4): each column has a number of its own."""
    return torch.arange(first, first + count).float()[:, None].expand(2, 3, count, 4)


def test_growing_equals_concatenation() -> None:
    grown, plain = Growing.of(numbers(0, 2)), numbers(0, 2)
    for first in range(2, 40, 2):
        grown, plain = grown.append(numbers(first, 2)), plain_append(plain, numbers(first, 2))
        assert torch.equal(grown.now, plain)
    assert torch.equal(grown.now, numbers(0, 40))


def test_columns_grow_in_place_only_if_they_are_growing() -> None:
    for columns in (Growing.of(numbers(0, 1)), numbers(0, 1)):
        longer = append(columns, numbers(1, 2))
        assert type(longer) is type(columns)
        assert torch.equal(current(longer), numbers(0, 3))


def test_growing_does_not_copy_while_there_is_room() -> None:
    stages = [Growing.of(numbers(0, 1))]
    for first in range(1, 64):
        stages.append(stages[-1].append(numbers(first, 1)))
    assert len({stage.room.data_ptr() for stage in stages}) < 10


def test_two_that_grow_from_one_stage_do_not_disturb_each_other() -> None:
    common = Growing.of(numbers(0, 1)).append(numbers(1, 1))
    one = common.append(numbers(10, 1))
    other = common.append(numbers(20, 2))
    assert torch.equal(common.now, numbers(0, 2))
    assert torch.equal(one.now, torch.cat([numbers(0, 2), numbers(10, 1)], dim=2))
    assert torch.equal(other.now, torch.cat([numbers(0, 2), numbers(20, 2)], dim=2))


def test_rows_of_a_growing_tensor_grow_separately() -> None:
    whole = Growing.of(numbers(0, 1)).append(numbers(1, 1))
    row = each(whole, lambda tensor: tensor[:1])
    assert isinstance(row, Growing)
    longer = row.append(numbers(5, 1)[:1])
    assert torch.equal(whole.append(numbers(7, 1)).now[:, :, 2:], numbers(7, 1))
    assert torch.equal(longer.now[:, :, 2:], numbers(5, 1)[:1])


def test_concatenated_columns_have_gradients() -> None:
    first = torch.ones(1, 1, 1, 2, requires_grad=True)
    more = torch.ones(1, 1, 1, 2, requires_grad=True)
    current(append(append(first, more), more)).sum().backward()
    assert first.grad is not None
    assert more.grad is not None
    assert torch.equal(more.grad, torch.full_like(more, 2))
