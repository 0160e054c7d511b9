"""Which attention heads resolve the pronoun "it", measured on riddles with a known antecedent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from regard.corpora.grammar import Example
from regard.data.line import Line
from regard.data.words import Side, merge
from regard.errors import UsageError
from regard.inspection.alignment import every_head
from regard.nn.captured import CROSS, ENCODER, Attention
from regard.predict import Predictor


@dataclass(frozen=True)
class ResolvingHead:
    """An attention head, counted from 1, and how it attends from the pronoun to the two nouns.

    accuracy: share of riddles in which the antecedent gets more weight than the distractor; 0.5 is
    chance. weight: mean attention weight on the antecedent.
    """

    kind: str
    layer: int
    head: int
    accuracy: float
    weight: float


def resolving_heads(predictor: Predictor, examples: Sequence[Example]) -> list[ResolvingHead]:
    """Rank all heads that attend to the source, best first; plain sentences are ignored.

    cross: attention while the German pronoun is generated. encoder: attention from "it".
    """
    riddles = [
        example
        for example in examples
        if None not in (example.pronoun, example.antecedent, example.distractor)
    ]
    pairs = [(Line(riddle.source, riddle.tree), riddle.target) for riddle in riddles]
    found = list(predictor.attend(pairs, _between_words, None))
    if not riddles or found[0] is None:
        raise UsageError("No riddles among these examples: none has a pronoun to resolve.")
    kinds = ("cross", "encoder")
    ranked = []
    for kind in kinds:
        layers = found[0].of(kind)
        weights = np.array(
            [
                _on_nouns(attention, riddle, kind)
                for attention, riddle in zip(found, riddles, strict=True)
                if attention
            ]
        )  # (riddles, heads, 2)
        for index, (layer, head) in enumerate(every_head(layers)):
            antecedent, distractor = weights[:, index, 0], weights[:, index, 1]
            accuracy = float((antecedent > distractor).mean())
            ranked.append(ResolvingHead(kind, layer, head, accuracy, float(antecedent.mean())))
    return sorted(ranked, key=lambda each: (-each.accuracy, -each.weight))


def _between_words(attention: Attention, source: Side, target: Side) -> Optional[Attention]:
    def merged(kind: str, queries: Side) -> tuple[NDArray[np.float32], ...]:
        layers = attention.of(kind)
        return tuple(merge(layer, queries, source).astype(np.float32) for layer in layers)

    return Attention({CROSS: merged("cross", target), ENCODER: merged("encoder", source)})


def _on_nouns(attention: Attention, riddle: Example, kind: str) -> NDArray[np.float32]:
    """(heads, 2): the weights from the pronoun to the antecedent and to the distractor."""
    assert riddle.pronoun is not None
    nouns = [noun for noun in (riddle.antecedent, riddle.distractor) if noun is not None]
    english = next(source for source, target in riddle.alignment if target == riddle.pronoun)
    row = riddle.pronoun if kind == "cross" else english
    rows = [layer[:, row, nouns] for layer in attention.of(kind)]
    return np.concatenate(rows) if rows else np.zeros((0, 2), np.float32)
