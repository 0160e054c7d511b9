"""What a decoder remembers: growing without copies, and without writing over another's memory."""

from __future__ import annotations

import torch

from regard.nn.state import Growing, each


def places(first: int, count: int) -> torch.Tensor:
    """(2, 3, count, 4): each place has a number of its own."""
    return torch.arange(first, first + count).float()[:, None].expand(2, 3, count, 4)


@torch.inference_mode()
def test_a_growing_tensor_is_what_was_put_together() -> None:
    grown = Growing.of(places(0, 2))
    for first in range(2, 40, 2):
        grown = grown.append(places(first, 2))
    assert torch.equal(grown.now, places(0, 40))


@torch.inference_mode()
def test_growing_does_not_copy_while_there_is_room() -> None:
    stages = [Growing.of(places(0, 1))]
    for first in range(1, 64):
        stages.append(stages[-1].append(places(first, 1)))
    assert len({stage.room.data_ptr() for stage in stages}) < 10


@torch.inference_mode()
def test_two_that_grow_from_one_stage_do_not_disturb_each_other() -> None:
    common = Growing.of(places(0, 1)).append(places(1, 1))
    one = common.append(places(10, 1))
    other = common.append(places(20, 2))
    assert torch.equal(common.now, places(0, 2))
    assert torch.equal(one.now, torch.cat([places(0, 2), places(10, 1)], dim=2))
    assert torch.equal(other.now, torch.cat([places(0, 2), places(20, 2)], dim=2))


@torch.inference_mode()
def test_rows_of_a_growing_tensor_go_their_own_way() -> None:
    whole = Growing.of(places(0, 1)).append(places(1, 1))
    row = each(whole, lambda tensor: tensor[:1])
    assert isinstance(row, Growing)
    longer = row.append(places(5, 1)[:1])
    assert torch.equal(whole.append(places(7, 1)).now[:, :, 2:], places(7, 1))
    assert torch.equal(longer.now[:, :, 2:], places(5, 1)[:1])


def test_what_grows_while_learning_has_gradients() -> None:
    first = torch.ones(1, 1, 1, 2, requires_grad=True)
    more = torch.ones(1, 1, 1, 2, requires_grad=True)
    Growing.of(first).append(more).append(more).now.sum().backward()
    assert first.grad is not None
    assert more.grad is not None
    assert torch.equal(more.grad, torch.full_like(more, 2))
