"""The order in which an encoder sees its source: the line itself, or the tree over it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from regard.data.annotations import DependencyTree
from regard.data.batch import Padded
from regard.errors import RegardError
from regard.nn.mixers.context import FullSequence
from regard.nn.position import Sinusoidal
from regard.nn.tree import tree_depths, tree_distances


class Order(nn.Module, ABC):
    @abstractmethod
    def sequence(self, source: Padded) -> FullSequence:
        """What self-attention is told of the positions."""

    @abstractmethod
    def add_depth(self, x: Tensor, source: Padded) -> Tensor:
        """Embedded words (B, S, D), plus anything added besides their position in the line."""


class LineOrder(Order):
    def sequence(self, source: Padded) -> FullSequence:
        return FullSequence(source.mask)

    def add_depth(self, x: Tensor, source: Padded) -> Tensor:
        return x


class TreeOrder(Order):
    """Structural positions (Wang et al. 2019, arXiv 1909.00383): to each word is added the
    sinusoid of its depth in the dependency tree, and attention compares words by the number of
    edges between them.

    The paper gives distances a sign by the side of a word; here the line's own
    sinusoids, which are added as well, tell the sides apart.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depth = Sinusoidal(width)

    def sequence(self, source: Padded) -> FullSequence:
        return FullSequence(source.mask, given_distance=tree_distances(_heads(source))[:, None])

    def add_depth(self, x: Tensor, source: Padded) -> Tensor:
        return x + self.depth.at(tree_depths(_heads(source)))


def _heads(source: Padded) -> Tensor:
    heads = source.annotations.get(DependencyTree.name)
    if heads is None:
        raise RegardError(
            "This model reads the dependency tree of each source line: give it with the line."
        )
    return heads
