"""Realised words, which know what they stand for and what they hang on.

A sentence is built once, as a structure of phrases and clauses, and realised twice. Two words are
aligned when they stand for the same node of the structure.
"""

from __future__ import annotations

Node = tuple[object, str]
"""A place in the structure: the phrase or clause, and the part of it."""


class Word:
    """A realised word: its text, the nodes it stands for and, in English, its head."""

    __slots__ = ("head", "nodes", "text")

    def __init__(self, text: str, *nodes: Node) -> None:
        """A word that is not attached yet."""
        self.text = text
        self.nodes = nodes
        self.head: Word | None = None


def root(words: list[Word]) -> Word:
    """The one word of a group that is not attached yet."""
    return next(word for word in words if word.head is None)


def attach(words: list[Word], head: Word) -> list[Word]:
    """Hang every word that has no head yet, and is not the head itself, on the head."""
    for word in words:
        if word.head is None and word is not head:
            word.head = head
    return words


def comma(words: list[Word]) -> list[Word]:
    """Close a group of words with a comma."""
    words[-1].text = words[-1].text.rstrip(",") + ","
    return words
