"""Depths and distances of trees, against a search that goes from word to word."""

from __future__ import annotations

from collections import deque

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.annotations import ROOT, DependencyTree
from regard.data.batch import Padded, Row
from regard.data.line import Line as Annotated
from regard.nn.tree import tree_depths, tree_distances

Line = tuple[list[int], list[list[int]]]
"""The heads of the words, and the ids of each word's pieces."""


@st.composite
def lines(draw: st.DrawFn) -> Line:
    """Any forest over the words of a line, in any order, each word of one to three pieces."""
    count = draw(st.integers(1, 9))
    order = draw(st.permutations(range(1, count + 1)))
    heads = [0] * count
    for place, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:place]]))
    sizes = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    return heads, [[7] * size for size in sizes]


def padded(rows: list[Line]) -> Padded:
    ids = [[piece for word in words for piece in word] for _, words in rows]
    trees = [DependencyTree().of_pieces(Annotated("", tuple(h)), w) for h, w in rows]
    return Padded.of_rows(
        [Row(*each) for each in zip(ids, ({"tree": t} for t in trees), strict=True)]
    )


def naive_distances(row: Line, width: int) -> list[list[int]]:
    """By breadth first search over words, EOS, padding and one root above all; the root last."""
    heads, words = row
    word_of = [number for number, pieces in enumerate(words, 1) for _ in pieces]
    word_of += range(len(heads) + 1, len(heads) + 1 + width - len(word_of))
    neighbours: dict[int, set[int]] = {word: set() for word in [0, *word_of]}
    for word, head in enumerate([*heads, *[0] * (len(neighbours) - 1 - len(heads))], 1):
        neighbours[word].add(head)
        neighbours[head].add(word)

    def from_word(start: int) -> dict[int, int]:
        found, agenda = {start: 0}, deque([start])
        while agenda:
            here = agenda.popleft()
            for there in neighbours[here] - found.keys():
                found[there] = found[here] + 1
                agenda.append(there)
        return found

    return [[from_word(word)[other] for other in [*word_of, 0]] for word in word_of]


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(lines(), min_size=1, max_size=4))
def test_as_a_search_finds_them(rows: list[Line]) -> None:
    heads = padded(rows).annotations["tree"]
    expected = torch.tensor([naive_distances(row, heads.shape[1]) for row in rows])
    assert torch.equal(tree_depths(heads), expected[:, :, -1])
    assert torch.equal(tree_distances(heads), expected[:, :, :-1])


@settings(max_examples=50, deadline=None)
@given(row=lines(), others=st.lists(lines(), max_size=3), more=st.integers(0, 4))
def test_padding_and_other_rows_change_nothing(row: Line, others: list[Line], more: int) -> None:
    alone, together = (padded(rows).annotations["tree"] for rows in ([row], [row, *others]))
    wider = torch.nn.functional.pad(together, (0, more), value=ROOT)
    real = alone.shape[1]
    assert torch.equal(tree_depths(wider)[:1, :real], tree_depths(alone))
    assert torch.equal(tree_distances(wider)[:1, :real, :real], tree_distances(alone))


def test_a_sentence_by_hand() -> None:
    """the(2) cat(3) slept(0), where cat has two pieces, and EOS."""
    heads = torch.tensor([[1, 3, -2, -1, -1]])
    assert tree_depths(heads).tolist() == [[3, 2, 2, 1, 1]]
    assert tree_distances(heads)[0].tolist() == [
        [0, 1, 1, 2, 4],
        [1, 0, 0, 1, 3],
        [1, 0, 0, 1, 3],
        [2, 1, 1, 0, 2],
        [4, 3, 3, 2, 0],
    ]


def test_a_chain_as_deep_as_the_line_is_long() -> None:
    heads = torch.arange(-1, 99)[None]
    assert torch.equal(tree_depths(heads), torch.arange(1, 101)[None])
    places = torch.arange(100)
    assert torch.equal(tree_distances(heads)[0], (places[:, None] - places).abs())
