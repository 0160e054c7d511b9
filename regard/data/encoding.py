"""Lines to rows: ids by a tokenizer, and the annotations of the words carried to their pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Optional

from regard.data.annotation import Words
from regard.data.annotations import Kinds, join, load
from regard.data.batch import UNKNOWN, Row
from regard.data.line import Line, Pair
from regard.data.tokenizer import Tokenizer
from regard.data.tokenizers import Tokenizers

LENGTH_LIMIT = 1000
"""Pieces of a line that are read when translating, unless the model reads fewer or was trained on
more."""

Encode = Callable[[Sequence[str]], list[list[int]]]

# With the white space before it, so that no text is lost. A match begins at the beginning of white
# space only: otherwise 100,000 spaces alone would take minutes.
_WORD = re.compile(r"(?<!\s)\s*\S+(?:\s+\Z)?")


class LineEncoder:
    """Encodes lines of one side, with the annotations that its model reads.

    With annotations each word is segmented by itself, so that every piece belongs to one word.
    """

    def __init__(
        self, tokenizer: Tokenizer, annotations: Kinds = (), encode: Optional[Encode] = None
    ) -> None:
        self._tokenizer = tokenizer
        self._annotations = annotations
        self._encode = encode or tokenizer.encode

    def sampled(self, sampling: float, seed: int) -> LineEncoder:
        """The same with segmentations drawn at random, where the tokenizer has several."""
        if not self._tokenizer.samples:
            return self
        encode = partial(self._tokenizer.sample, sampling=sampling, seed=seed)
        return LineEncoder(self._tokenizer, self._annotations, encode)

    def encode(self, lines: Sequence[Line]) -> list[Row]:
        if not self._annotations:
            return [Row(ids) for ids in self._encode([line.text for line in lines])]
        return [
            Row(join(words), {kind.name: kind.of_pieces(line, words) for kind in self._annotations})
            for line, words in zip(lines, self.words(lines), strict=True)
        ]

    def words(self, lines: Sequence[Line]) -> list[Words]:
        """The ids of each word of each line."""
        found: list[Words] = list(encode_words([line.text for line in lines], self._encode))
        for kind in self._annotations:
            found = [kind.ids(line, words) for line, words in zip(lines, found, strict=True)]
        return found

    def load(self, lines: Sequence[Line], first: int = 1) -> list[Line]:
        """The lines themselves, where a text names a file; one that lacks what the model reads is
        refused. `first` is the number of the first."""
        here = Path()
        return [
            load(line, self._annotations, here, f"Line {number}")
            for number, line in enumerate(lines, first)
        ]


class PairEncoder:
    """Encodes both sides of pairs, where an annotation of the source may depend on the target."""

    def __init__(self, source: LineEncoder, target: LineEncoder, annotations: Kinds) -> None:
        self._source = source
        self._target = target
        self._annotations = annotations

    @staticmethod
    def of(tokenizers: Tokenizers, annotations: Kinds = ()) -> PairEncoder:
        source = LineEncoder(tokenizers.source, annotations)
        return PairEncoder(source, LineEncoder(tokenizers.target), annotations)

    def sampled(self, sampling: float, seeds: tuple[int, int]) -> PairEncoder:
        """The same with segmentations drawn at random, by a seed for each side."""
        source = self._source.sampled(sampling, seeds[0])
        return PairEncoder(source, self._target.sampled(sampling, seeds[1]), self._annotations)

    def encode(self, pairs: Sequence[Pair]) -> tuple[list[Row], list[Row]]:
        """The rows of the sources and the rows of the targets."""
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        if not any(kind.reads_target for kind in self._annotations):
            return self._source.encode(sources), self._target.encode(targets)
        read, written = self._source.words(sources), self._target.words(targets)
        rows = [
            Row(join(words), {k.name: k.of_pair(line, words, other) for k in self._annotations})
            for line, words, other in zip(sources, read, written, strict=True)
        ]
        return rows, [Row(join(words)) for words in written]


def encode_words(texts: Sequence[str], encode: Encode) -> list[list[list[int]]]:
    """The ids of each word of each text.

    A word in which the tokenizer finds nothing is unknown, so that every word has a piece.
    """
    words = [_WORD.findall(text) for text in texts]
    encoded = iter(encode(list(chain.from_iterable(words))))
    return [[next(encoded) or [UNKNOWN] for _ in text] for text in words]
