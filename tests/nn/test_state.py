"""States as search handles them: which rows follow a hypothesis and which stay with a sentence."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.nn.fast.cache import Growing
from regard.nn.state import State, each


class Shared(NamedTuple):
    keys: Tensor
    layers: tuple[Tensor, ...]


class Past(NamedTuple):
    hidden: Tensor
    cache: Growing


def start(sentences: int) -> State[Shared, Past]:
    rows = torch.arange(sentences)
    cache = Growing.of(rows.float().view(-1, 1, 1, 1))
    return State(Shared(rows, (rows + 10,)), Past(rows + 20, cache), candidates=(rows + 30,))


def values(state: State[Shared, Past]) -> tuple[list[int], list[int], list[int], list[float]]:
    (candidates,) = state.candidates
    cache = state.past.cache.now.flatten().tolist()
    return state.shared.keys.tolist(), candidates.tolist(), state.past.hidden.tolist(), cache


def test_spread_copies_the_past_only() -> None:
    spread = start(2).spread(2)
    assert spread.copies == 2
    assert values(spread) == ([0, 1], [30, 31], [20, 20, 21, 21], [0, 0, 1, 1])


def test_select_reorders_the_past_only() -> None:
    selected = start(2).spread(2).select(torch.tensor([1, 0, 2, 2]))
    assert values(selected) == ([0, 1], [30, 31], [20, 20, 21, 21], [0, 0, 1, 1])
    other = start(3).select(torch.tensor([2, 2, 0]))
    assert values(other) == ([0, 1, 2], [30, 31, 32], [22, 22, 20], [2, 2, 0])


def test_keep_takes_sentences_with_all_their_hypotheses() -> None:
    kept = start(3).spread(2).keep(torch.tensor([0, 2]))
    assert values(kept) == ([0, 2], [30, 32], [20, 20, 22, 22], [0, 0, 2, 2])
    assert kept.shared.layers[0].tolist() == [10, 12]


def test_named_tuples_keep_their_type() -> None:
    changed = each((start(2).shared, ()), lambda tensor: tensor + 1)
    assert isinstance(changed[0], Shared)
    assert changed[0].keys.tolist() == [1, 2]
    assert changed[1] == ()


def test_advance_counts_tokens_and_keeps_what_is_not_given() -> None:
    state = start(2)
    later = state.advance(state.past, by=3).advance(state.past, by=1)
    assert later.length == 4
    assert later.shared is state.shared
    assert later.candidates is state.candidates
