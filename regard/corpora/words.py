"""Realised words, each of which knows the nodes it expresses and its parent in the tree.

A sentence is built once, as a structure of phrases and clauses, and realised in both languages.
Two words are aligned if they express the same node of the structure.
"""

from __future__ import annotations

Node = tuple[object, str]
"""A node of the structure: a phrase or clause, and the name of one of its parts."""


class Word:
    """A realised word: its text, the nodes it expresses and, in English, its parent in the tree."""

    __slots__ = ("nodes", "parent", "text")

    def __init__(self, text: str, *nodes: Node) -> None:
        """A word without a parent yet."""
        self.text = text
        self.nodes = nodes
        self.parent: Word | None = None


def root(words: list[Word]) -> Word:
    """The only word of a group that has no parent yet."""
    return next(word for word in words if word.parent is None)


def attach(words: list[Word], parent: Word) -> list[Word]:
    """Make `parent` the parent of every other word that has none yet."""
    for word in words:
        if word.parent is None and word is not parent:
            word.parent = parent
    return words


def comma(words: list[Word]) -> list[Word]:
    """End a group of words with a comma."""
    words[-1].text = words[-1].text.rstrip(",") + ","
    return words
