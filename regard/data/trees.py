"""What makes the heads of a line's words a dependency tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from regard.errors import UsageError
from regard.messages import counted


def check_tree(heads: Sequence[int], words: int, where: str) -> None:
    """A line may have several roots, since it may hold several sentences."""
    if len(heads) != words:
        raise UsageError(
            f"{where} has {counted(len(heads), 'head')}, but its source has "
            f"{counted(words, 'word')}: give one head for each word between spaces."
        )
    for word, head in enumerate(heads, 1):
        if not 0 <= head <= words:
            raise UsageError(
                f"{where} gives word {word} the head {head}, but its source has "
                f"{counted(words, 'word')}: count them from 1, and write 0 for a root."
            )
    if (word_in_cycle := _cycle(heads)) is not None:
        raise UsageError(
            f"{where} is not a tree: following the heads, word {word_in_cycle} comes back "
            "to itself."
        )


def _cycle(heads: Sequence[int]) -> Optional[int]:
    """A word that is above itself, if there is one."""
    safe = {0}
    for word in range(1, len(heads) + 1):
        path = dict[int, None]()
        while word not in safe:
            if word in path:
                return word
            path[word] = None
            word = heads[word - 1]
        safe.update(path)
    return None
