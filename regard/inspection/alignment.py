"""Word alignments from attention: which heads, at which moment, by which method."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.words import Side, merge
from regard.errors import UsageError
from regard.metrics.alignment import Links
from regard.nn.captured import Weights

Method = Literal["argmax", "intersection", "grow-diag"]
METHODS: tuple[Method, ...] = ("argmax", "intersection", "grow-diag")

Moment = Literal["writing", "reading"]
MOMENTS: tuple[Moment, ...] = ("writing", "reading")

NEIGHBOURS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]


MIN_LINK_WEIGHT = 0.01
"""Below this a pair of words is never linked; `numbers.js` has the same constant."""


def find_method(name: str) -> Method:
    for method in METHODS:
        if method == name:
            return method
    raise UsageError(f"There is no method '{name}': choose argmax, intersection or grow-diag.")


@dataclass(frozen=True)
class AttentionHeads:
    """Heads whose attention gives the alignment: (layer, head) from 1; empty for the mean of all.

    writing: the attention while a word is being predicted. reading: the attention while that word
    is the decoder's input, which aligns better in the lower layers of deep decoders (Chen et al.
    2020, arXiv 2004.14837).
    """

    indices: tuple[tuple[int, int], ...] = ()
    moment: Moment = "writing"

    def __str__(self) -> str:
        names = ",".join(f"{layer}.{head}" for layer, head in self.indices) or "mean"
        return names if self.moment == "writing" else f"{names}@reading"

    @staticmethod
    def parse(text: str) -> AttentionHeads:
        """`mean`, or a list such as 3.2,4.1: layer 3 head 2 and layer 4 head 1.

        3.2@reading is that head at the other moment.
        """
        match = re.fullmatch(r"(mean|[0-9.,]+)(@reading)?", text)
        names = [] if match is None or match[1] == "mean" else match[1].split(",")
        matches = [re.fullmatch(r"([1-9][0-9]{0,3})\.([1-9][0-9]{0,3})", name) for name in names]
        if match is None or None in matches:
            raise UsageError(
                f"'{text}' names no heads: write layer.head, such as 3.2,4.1, or mean."
            )
        found = tuple((int(each[1]), int(each[2])) for each in matches if each is not None)
        return AttentionHeads(found, "reading" if match[2] else "writing")

    def mean(self, cross: tuple[Weights, ...]) -> NDArray[np.float64]:
        """(T, S): the mean of the chosen heads."""
        if not cross:
            raise UsageError("This model has no attention to the source, so it cannot align words.")
        chosen = self.indices or every_head(cross)
        for layer, head in chosen:
            if layer > len(cross) or head > len(cross[layer - 1]):
                raise UsageError(
                    f"There is no head {layer}.{head} in this model: see 'regard look'."
                )
        stack = np.stack([cross[layer - 1][head - 1] for layer, head in chosen])
        mean: NDArray[np.float64] = stack.astype(np.float64).mean(axis=0)
        return mean


def every_head(cross: tuple[Weights, ...]) -> tuple[tuple[int, int], ...]:
    """All (layer, head), counted from 1."""
    return tuple(
        (layer, head)
        for layer, weights in enumerate(cross, 1)
        for head in range(1, len(weights) + 1)
    )


def between_words(
    weights: NDArray[Any], source: Side, target: Side, moment: Moment
) -> NDArray[np.float64]:
    """Attention (T, S) between pieces to attention between words, without EOS.

    At position t the decoder reads token t - 1 and predicts token t.
    """
    if len(target.words) < 2 or len(source.words) < 2:
        return np.zeros((len(target.words) - 1, len(source.words) - 1))
    shifted = np.roll(weights, -1, axis=-2) if moment == "reading" else weights
    return merge(shifted, target, source)[..., :-1, :-1]


def links(weights: NDArray[Any], method: Method) -> Links:
    """Links (source word, target word) by attention (target words, source words).

    argmax: each target word to the source word it looks at most. intersection: where the source
    word is also looked at most by that target word. grow-diag: the intersection, then neighbours
    of what is there that are in one of the two directions and bring in a word without a link
    (Och & Ney 2003; Koehn et al. 2003).
    """
    if not weights.size:
        return frozenset()
    enough = {
        (int(source), int(target)) for target, source in np.argwhere(weights >= MIN_LINK_WEIGHT)
    }
    forward = {(int(source), target) for target, source in enumerate(weights.argmax(axis=1))}
    forward &= enough
    if method == "argmax":
        return frozenset(forward)
    backward = {(source, int(target)) for source, target in enumerate(weights.argmax(axis=0))}
    backward &= enough
    both = forward & backward
    return frozenset(both if method == "intersection" else _grow(both, forward | backward))


def _grow(both: set[tuple[int, int]], either: set[tuple[int, int]]) -> set[tuple[int, int]]:
    grown, waiting = set(both), sorted(both)
    sources, targets = {source for source, _ in grown}, {target for _, target in grown}
    while waiting:
        source, target = waiting.pop(0)
        for down, right in NEIGHBOURS:
            near = (source + down, target + right)
            new_word = near[0] not in sources or near[1] not in targets
            if near in either and near not in grown and new_word:
                grown.add(near)
                waiting.append(near)
                sources.add(near[0])
                targets.add(near[1])
    return grown
