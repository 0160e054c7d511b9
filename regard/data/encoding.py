"""Lines to rows: ids by a tokenizer, and the annotations of the words carried to their pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Optional

from regard.data.annotations import Annotation, Kinds
from regard.data.batch import UNKNOWN, Row
from regard.data.line import Line
from regard.data.tokenizer import Tokenizer
from regard.errors import UsageError

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
        """The same with segmentations drawn at random."""

        def encode(texts: Sequence[str]) -> list[list[int]]:
            return self._tokenizer.sample(texts, sampling, seed)

        return LineEncoder(self._tokenizer, self._annotations, encode)

    def encode(self, lines: Sequence[Line]) -> list[Row]:
        texts = [line.text for line in lines]
        if not self._annotations:
            return [Row(ids) for ids in self._encode(texts)]
        return [
            Row(
                list(chain.from_iterable(words)),
                {
                    kind.name: kind.of_pieces(kind.of(line) or (), words)
                    for kind in self._annotations
                },
            )
            for line, words in zip(lines, encode_words(texts, self._encode), strict=True)
        ]

    def check(self, lines: Sequence[Line], first: int = 1) -> None:
        """Refuse a line that lacks what the model reads; `first` is the number of the first."""
        for number, line in enumerate(lines, first):
            for kind in self._annotations:
                _check(line, kind, f"Line {number}")


def _check(line: Line, kind: type[Annotation], where: str) -> None:
    words, values = len(line.text.split()), kind.of(line)
    if values is not None:
        kind.check(values, words, where)
    elif words:
        raise UsageError(
            f"{where} has no {kind.name}, but this model reads {kind.description}: "
            f"give Line(text, {kind.name}=...)."
        )


def encode_words(texts: Sequence[str], encode: Encode) -> list[list[list[int]]]:
    """The ids of each word of each text.

    A word in which the tokenizer finds nothing is unknown, so that every word has a piece.
    """
    words = [_WORD.findall(text) for text in texts]
    encoded = iter(encode(list(chain.from_iterable(words))))
    return [[next(encoded) or [UNKNOWN] for _ in text] for text in words]
