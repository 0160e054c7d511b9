"""Dependency trees beside the source: the head of each word, read, checked, and told of pieces.

Of words, heads are numbers as in their files: k is the k-th word of the line, counted from 1, and
0 is a root. Of pieces, they are what `Padded.heads` holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Optional

from regard.data.batch import GOES_ON, ROOT, UNKNOWN
from regard.errors import UsageError

Heads = Sequence[int]
Encode = Callable[[Sequence[str]], list[list[int]]]

_WORD = re.compile(r"\s*\S+(?:\s+\Z)?")  # with the white space before it, so that no text is lost
_SHOWN = 20


def read_heads(text: str, words: int, where: str) -> tuple[int, ...]:
    """The heads on a line that belongs to a source of so many words; `where` is for errors."""
    numbers = text.split()
    try:
        heads = tuple(map(int, numbers))
    except ValueError:
        wrong = next(number for number in numbers if not re.fullmatch(r"-?\d{1,9}", number))
        raise UsageError(
            f"{where} has '{wrong[:_SHOWN]}' among the heads: write the number of each word's "
            "head, and 0 for a root."
        ) from None
    check_tree(heads, words, where)
    return heads


def check_tree(heads: Heads, words: int, where: str) -> None:
    """Refuse heads that are not those of so many words, or that go round in a circle.

    A line may have several roots, since it may hold several sentences.
    """
    if len(heads) != words:
        raise UsageError(
            f"{where} has {len(heads):,} heads, but its source has {words:,} words: give one head "
            "for each word between spaces."
        )
    for word, head in enumerate(heads, 1):
        if not 0 <= head <= words:
            raise UsageError(
                f"{where} gives word {word} the head {head}, but its source has {words:,} words: "
                "count them from 1, and write 0 for a root."
            )
    circle = _circle(heads)
    if circle is not None:
        raise UsageError(
            f"{where} has no tree: going from head to head, word {circle} comes back to itself."
        )


def _circle(heads: Heads) -> Optional[int]:
    """A word from which going up comes back to it, if there is one."""
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


def must_fit(reads_heads: bool, given: bool, name: str) -> None:
    """Refuse a model without the heads that it reads, and heads that it does not; `name` is what
    they are given as."""
    if reads_heads and not given:
        raise UsageError(f"This model reads the dependency tree of each source line: give {name}.")
    if given and not reads_heads:
        raise UsageError(f"This model has no use for dependency trees: leave {name} out.")


def encode_trees(
    lines: Sequence[str], trees: Iterable[Heads], encode: Encode
) -> tuple[list[list[int]], list[list[int]]]:
    """The ids of each line, word by word, and one head for each of them."""
    words = encode_words(lines, encode)
    heads = [piece_heads(tree, line) for tree, line in zip(trees, words, strict=True)]
    return [list(chain.from_iterable(line)) for line in words], heads


def encode_words(lines: Sequence[str], encode: Encode) -> list[list[list[int]]]:
    """The ids of each word of each line, by any way of encoding texts.

    A word in which the tokenizer finds nothing is unknown, so that every word has a piece.
    """
    words = [_WORD.findall(line) for line in lines]
    encoded = iter(encode(list(chain.from_iterable(words))))
    return [[next(encoded) or [UNKNOWN] for _ in line] for line in words]


def piece_heads(heads: Heads, words: Sequence[Sequence[int]]) -> list[int]:
    """One number for each piece, of the heads of words and the ids of each word."""
    starts, place = [ROOT], 0
    for ids in words:
        starts.append(place)
        place += len(ids)
    found: list[int] = []
    for head, ids in zip(heads, words, strict=True):
        found += [starts[head], *[GOES_ON] * (len(ids) - 1)]
    return found


def word_heads(heads: Heads) -> list[int]:
    """The heads of words again, of those of their pieces."""
    first = [place for place, head in enumerate(heads) if head != GOES_ON]
    number = {place: word for word, place in enumerate(first, 1)}
    return [number.get(heads[place], 0) for place in first]


def cut_heads(heads: Heads, length: int) -> list[int]:
    """The heads of the first pieces; a word whose head is gone hangs on the next one above it."""
    kept = list(heads[:length])
    for place, head in enumerate(kept):
        while head >= length:
            head = heads[head]
        kept[place] = head
    return kept
