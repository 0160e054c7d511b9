"""Pieces put together to words, and attention between words instead of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.batch import BOS, EOS
from regard.data.tokenizer import Tokenizer

RULE = (
    "A word is whatever is separated by spaces. The weight on a word is the sum over its pieces; "
    "the attention of a word is the mean over its pieces."
)


@dataclass(frozen=True)
class Side:
    """One side of a sentence pair as its model reads it, the reserved ids included.

    word_of gives for each piece the number of its word; the end of the sentence is a word.
    """

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    words: tuple[str, ...]
    word_of: tuple[int, ...]

    @staticmethod
    def of(tokenizer: Tokenizer, ids: Sequence[int]) -> Side:
        """The side of ids without EOS, which is added."""
        words, word_of = group(tokenizer, ids)
        pieces = [piece.replace(" ", "␣") for piece in tokenizer.pieces([*ids, EOS])]
        return Side((*ids, EOS), tuple(pieces), (*words, pieces[-1]), (*word_of, len(words)))

    @staticmethod
    def numbered(count: int) -> Side:
        """Positions that are not tokens, such as the slots of a memory, counted from 1."""
        return Side.named([str(number) for number in range(1, count + 1)])

    @staticmethod
    def named(names: Sequence[str]) -> Side:
        """Positions that are not tokens and have names, such as the sentences of a document."""
        numbers = tuple(range(len(names)))
        return Side(numbers, tuple(names), tuple(names), numbers)

    def parts(self, part_of: Sequence[int], longest: int = 40) -> tuple[str, ...]:
        """The words of each part of this side, such as a sentence, as far as they fit into a name;
        part_of has the number of each piece's part, and -1 for none."""
        texts = [dict[int, str]() for _ in range(max(part_of, default=-1) + 1)]
        for part, word in zip(part_of, self.word_of, strict=False):
            if part >= 0:
                texts[part][word] = self.words[word]
        joined = (" ".join(words.values()) for words in texts)
        return tuple(
            text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…" for text in joined
        )

    def shifted(self, tokenizer: Tokenizer) -> Side:
        """The decoder's input when it predicts this side: BOS, then all but EOS."""
        begin = tokenizer.pieces([BOS])[0]
        return Side(
            (BOS, *self.ids[:-1]),
            (begin, *self.pieces[:-1]),
            (begin, *self.words[:-1]),
            (0, *(word + 1 for word in self.word_of[:-1])),
        )

    def by_piece(self, names: Sequence[str] = ()) -> Side:
        """Each piece as a word of its own; all but the last are called by these names, if given."""
        pieces = (*names, self.pieces[-1]) if names else self.pieces
        return Side(self.ids, pieces, pieces, tuple(range(len(pieces))))

    def then(self, other: Side) -> Side:
        """This side with another one after it."""
        return Side(
            self.ids + other.ids,
            self.pieces + other.pieces,
            self.words + other.words,
            (*self.word_of, *(len(self.words) + word for word in other.word_of)),
        )

    def membership(self) -> NDArray[np.float64]:
        """(words, pieces): 1 where a piece is of a word."""
        return np.eye(len(self.words))[:, list(self.word_of)]


def group(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[list[str], list[int]]:
    """The words that ids say, and the word of each id.

    What the ids say as they grow tells where a word begins, whatever the tokenizer: an id that
    adds nothing visible, such as a space, belongs to the word that follows. An id that says
    several words, which it may where they stand between no-break spaces, belongs to the last. No id
    belongs to a word before that of the last id: half of a no-break space looks like a word.
    """
    word_of, before = list[int](), ""
    for end in range(1, len(ids) + 1):
        text = tokenizer.decode(ids[:end])
        visible = "".join(text.split())
        count = len(text.split())
        number = count - 1 if visible != before and count else count
        word_of.append(max([number, *word_of[-1:]]))
        before = visible
    words = tokenizer.decode(ids).split()
    if not words and ids:
        words = [""]
    return words, [min(number, max(0, len(words) - 1)) for number in word_of]


def merge(weights: NDArray[Any], looking: Side, looked_at: Side) -> NDArray[np.float64]:
    """Attention (..., T, S) between pieces to attention between words, by the RULE above."""
    rows = looking.membership()  # (words, T)
    rows = rows / np.maximum(1, rows.sum(axis=1, keepdims=True))  # a word may have no piece
    merged: NDArray[np.float64] = rows @ weights.astype(np.float64) @ looked_at.membership().T
    return merged
