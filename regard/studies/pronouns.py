"""Which heads know what "it" stands for: measured on riddles whose answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from regard.corpora.grammar import Pair
from regard.data.line import Line
from regard.data.words import Side, merge
from regard.errors import UsageError
from regard.inspection.alignment import every_head
from regard.nn.captured import Attention, Kind
from regard.predict import Predictor


@dataclass(frozen=True)
class Resolving:
    """A head, counted from 1, and how it looks from the pronoun at the two nouns.

    right: the share of riddles in which the noun that the pronoun stands for gets more weight than
    the other; by chance it is a half. weight: what the right noun gets in the mean.
    """

    kind: Kind
    layer: int
    head: int
    right: float
    weight: float


def resolving_heads(predictor: Predictor, pairs: Sequence[Pair]) -> list[Resolving]:
    """All heads that look at the source, best first.

    cross: from the German pronoun while it is written. encoder: from the English "it".
    """
    riddles = [pair for pair in pairs if None not in (pair.pronoun, pair.antecedent, pair.rival)]
    texts = [(Line(pair.source, _tree(pair)), pair.target) for pair in riddles]
    found = list(predictor.attend(texts, _between_words, None))
    if not riddles or found[0] is None:
        raise UsageError(
            "There is no riddle among these pairs: give some with a pronoun to resolve."
        )
    kinds: tuple[Kind, Kind] = ("cross", "encoder")
    ranked = []
    for kind in kinds:
        layers = found[0].of(kind)
        looked = np.array(
            [_on_nouns(each, pair, kind) for each, pair in zip(found, riddles, strict=True) if each]
        )  # (riddles, heads, 2)
        for number, (layer, head) in enumerate(every_head(layers)):
            right, other = looked[:, number, 0], looked[:, number, 1]
            share, weight = float((right > other).mean()), float(right.mean())
            ranked.append(Resolving(kind, layer, head, share, weight))
    return sorted(ranked, key=lambda each: (-each.right, -each.weight))


def _tree(pair: Pair) -> tuple[int, ...]:
    return tuple(head + 1 for head in pair.heads)  # the grammar counts from 0


def _between_words(attention: Attention, source: Side, target: Side) -> Optional[Attention]:
    def merged(kind: Kind, looking: Side) -> tuple[NDArray[np.float32], ...]:
        layers = attention.of(kind)
        return tuple(merge(layer, looking, source).astype(np.float32) for layer in layers)

    return Attention(cross=merged("cross", target), encoder=merged("encoder", source), decoder=())


def _on_nouns(attention: Attention, pair: Pair, kind: Kind) -> NDArray[np.float32]:
    """(heads, 2): the weights from the pronoun on the right noun and on the other."""
    assert pair.pronoun is not None
    nouns = [noun for noun in (pair.antecedent, pair.rival) if noun is not None]
    english = next(source for source, target in pair.alignment if target == pair.pronoun)
    row = pair.pronoun if kind == "cross" else english
    rows = [layer[:, row, nouns] for layer in attention.of(kind)]
    return np.concatenate(rows) if rows else np.zeros((0, 2), np.float32)
