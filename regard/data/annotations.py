"""What may be known about a line besides its ids: read from a file or derived from the text, and
carried to its pieces."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Optional

import numpy as np

from regard.data import pictures
from regard.data.annotation import Annotation, Points, Values, Words, whole
from regard.data.line import Line
from regard.data.links import source_words
from regard.data.pictures import Picture
from regard.data.trees import check_tree
from regard.errors import UsageError
from regard.messages import counted

ROOT, INSIDE_WORD = -1, -2
"""In the tree of pieces: a piece that has no head, and a piece that is not the first of a word."""

MARKER = "|||"
"""The word between the sentences of a line, unless `tokenizer.marker` says otherwise."""

MAX_NUMBER = 1e15
"""The largest number of a point: products of much larger ones would overflow in float32."""

_SHOWN = 20


@dataclass(frozen=True)
class DependencyTree(Annotation):
    """The head of each word.

    Of words: k is the k-th word of the line, counted from 1, and 0 is a root. Of pieces: the first
    piece of a word has the index of the first piece of its head, or ROOT; the others have
    INSIDE_WORD. EOS and padding are roots of their own.
    """

    name = "tree"
    fill = ROOT
    option = "trees"
    description = "the dependency tree of each source line"

    def check(self, line: Line, where: str) -> None:
        words = len(line.text.split())
        if line.tree is not None:
            check_tree(line.tree, words, where)
        elif words:
            raise UsageError(
                f"{where} has no tree, but this model reads {self.description}: "
                "give Line(text, tree=...)."
            )

    def read(self, line: Line, text: str, where: str) -> Line:
        numbers = text.split()
        try:
            heads = tuple(map(int, numbers))
        except ValueError:
            wrong = next(number for number in numbers if not re.fullmatch(r"-?\d{1,9}", number))
            raise UsageError(
                f"{where} has '{wrong[:_SHOWN]}' among the heads: write the number of each word's "
                "head, and 0 for a root."
            ) from None
        annotated = line._replace(tree=heads)
        self.check(annotated, where)
        return annotated

    def write(self, line: Line) -> str:
        return " ".join(map(str, line.tree or ()))

    def of_pieces(self, line: Line, words: Words) -> Values:
        starts, end = [ROOT], 0
        for ids in words:
            starts.append(end)
            end += len(ids)
        found: list[int] = []
        for head, ids in zip(line.tree or (), words, strict=True):
            found += [starts[head], *[INSIDE_WORD] * (len(ids) - 1)]
        return whole(found)

    def truncate(self, values: Values, kept: slice) -> Values:
        """A word whose head is dropped hangs on the nearest word above it that remains."""
        remaining = range(len(values))[kept]
        heads = []
        for head in values[kept].tolist():
            while head >= 0 and head not in remaining:
                head = int(values[head])
            heads.append(head if head < 0 else head - remaining.start)
        return whole(heads)

    def example(self, ids: Sequence[int]) -> Values:
        """Two branches and a word of two pieces; all further words are roots."""
        tree = [ROOT, 0, 0, INSIDE_WORD, 2, 4, 1]
        return whole([*tree[: len(ids)], *[ROOT] * (len(ids) - len(tree))])


@dataclass(frozen=True)
class WordIndex(Annotation):
    """Which word each piece belongs to, counted from 0."""

    name = "words"
    fill = -1
    description = "the words of each source line"

    def of_pieces(self, line: Line, words: Words) -> Values:
        return np.repeat(np.arange(len(words)), [len(ids) for ids in words])

    def example(self, ids: Sequence[int]) -> Values:
        """Words of two pieces and of one by turns."""
        return whole([(2 * index + 1) // 3 for index in range(len(ids))])


@dataclass(frozen=True)
class Letters(Annotation):
    """The letters of the word that each piece belongs to, as codes of its characters.

    A mark stands before the first and after the last letter, and 0 fills up what is left. Of a long
    word the first and the last letters are kept: its stem and its ending.
    """

    name = "letters"
    fill = 0
    description = "the letters of each source word"

    @property
    def stored(self) -> str:
        return f"({LETTER_COUNT},)<i2"

    def of_pieces(self, line: Line, words: Words) -> Values:
        if not words:
            return np.zeros((0, LETTER_COUNT), np.int16)
        spelled = np.array([spell(word) for word in line.text.split()], np.int16)
        return np.repeat(spelled, [len(ids) for ids in words], axis=0)

    def example(self, ids: Sequence[int]) -> Values:
        return np.array([spell(chr(64 + id)) for id in ids], np.int16).reshape(-1, LETTER_COUNT)


LETTER_COUNT = 16
"""How many codes a word has, the two marks among them."""

LETTER_CODES = 1024
"""Characters share a code with those that are a multiple of this, less 2, apart."""


def spell(word: str) -> list[int]:
    """The codes of a word: 0 for none, 1 for a mark, and those of its characters."""
    codes = [1, *(2 + ord(letter) % (LETTER_CODES - 2) for letter in word), 1]
    if len(codes) > LETTER_COUNT:
        codes = codes[: LETTER_COUNT // 2] + codes[-LETTER_COUNT // 2 :]
    return codes + [0] * (LETTER_COUNT - len(codes))


@dataclass(frozen=True)
class SentenceIndex(Annotation):
    """Which sentence each piece belongs to, counted from 0.

    A line is split where a word is the marker, which is no piece itself. The last sentence may be a
    question, so a line is truncated by dropping whole sentences from its front.
    """

    marker: str = MARKER
    name = "sentences"
    fill = -1
    description = "the sentences of each source line"

    def between(self, marker: str) -> SentenceIndex:
        return SentenceIndex(marker)

    def ids(self, line: Line, words: Words) -> Words:
        texts = line.text.split()
        return [() if text == self.marker else ids for text, ids in zip(texts, words, strict=True)]

    def of_pieces(self, line: Line, words: Words) -> Values:
        """A sentence without any piece is not counted."""
        lengths = [0]
        for text, ids in zip(line.text.split(), words, strict=True):
            if text == self.marker:
                lengths.append(0)
            else:
                lengths[-1] += len(ids)
        present = [length for length in lengths if length]
        return np.repeat(np.arange(len(present)), present)

    def kept(self, values: Values, length: int) -> slice:
        """Of a last sentence that is too long by itself, its first pieces."""
        count = len(values)
        starts = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist()]
        start = next((start for start in starts if count - start <= length), starts[-1])
        return slice(start, start + length)

    def truncate(self, values: Values, kept: slice) -> Values:
        remaining = values[kept]
        return remaining - remaining[:1]

    def example(self, ids: Sequence[int]) -> Values:
        """Sentences of two pieces, the last of them longer."""
        last = max(0, len(ids) // 2 - 1)
        return whole([min(index // 2, last) for index in range(len(ids))])


@dataclass(frozen=True)
class Numbers(Annotation):
    """`width` numbers for each word, which is those numbers with commas between them: 0.31,0.52."""

    width: int = 2
    name = "numbers"
    fill = 0.0
    replaces_ids = True
    description = "the numbers of each source word"

    @property
    def stored(self) -> str:
        return f"({self.width},)<f4"

    def check(self, line: Line, where: str) -> None:
        for number, word in enumerate(line.text.split(), 1):
            parts = word.split(",")
            if not all(map(_is_number, parts)):
                raise UsageError(
                    f"{where} has '{word[:_SHOWN]}' as word {number}: write numbers of at most "
                    f"{MAX_NUMBER:.0e} with commas between them, such as 0.31,0.52."
                )
            if len(parts) != self.width:
                raise UsageError(
                    f"{where} has {counted(len(parts), 'number')} in word {number}, but this model "
                    f"reads {self.width} for each word (model.numbers)."
                )

    def points(self, line: Line) -> Points:
        if self.width != 2:
            return ()
        return tuple((x, y) for x, y in _numbers(line))

    def of_pieces(self, line: Line, words: Words) -> Values:
        """Each word must be one piece, as with the tokenizer kind 'number'."""
        found = _numbers(line)
        assert len(found) == sum(map(len, words))
        return np.array(found, np.float32).reshape(-1, self.width)

    def example(self, ids: Sequence[int]) -> Values:
        found = [[math.sin(id * (part + 1)) for part in range(self.width)] for id in ids]
        return np.array(found, np.float32).reshape(-1, self.width)


@dataclass(frozen=True)
class Pixels(Annotation):
    """The grey values of each patch of a picture, which is the whole line; see `Picture`."""

    height: int = 16
    patch: int = 4
    name = "pixels"
    fill = pictures.WHITE
    replaces_ids = True
    description = "the picture of each source line"

    @property
    def stored(self) -> str:
        return f"({self.patch**2},)<u1"

    def load(self, line: Line, folder: Path, where: str) -> Line:
        name = line.text.strip()
        if not pictures.is_path(name):
            return line
        pixels = pictures.read_picture(name, folder, self.height, where)
        return line._replace(text=pictures.to_text(pixels))

    def check(self, line: Line, where: str) -> None:
        pictures.check_rows(line.text, where)
        if line.text.strip():
            pictures.check_height(pictures.size_of(line.text), self.height, where)

    def shown(self, line: Line) -> str:
        height, width = pictures.size_of(line.text)
        is_path = pictures.is_path(line.text)
        return line.text if is_path else f"a picture of {width} by {height} pixels"

    def picture(self, values: Values) -> Optional[Picture]:
        return Picture.of_patches(values, self.patch, self.height)

    def ids(self, line: Line, words: Words) -> Words:
        """Of each patch the id of any word, in one word."""
        height, width = pictures.size_of(line.text)
        patches = -(-width // self.patch) * (height // self.patch)
        return [[words[0][0]] * patches] if words else []

    def of_pieces(self, line: Line, words: Words) -> Values:
        if not words:
            return np.zeros((0, self.patch**2), np.float32)
        return Picture(pictures.parse(line.text), self.patch).patches()

    def example(self, ids: Sequence[int]) -> Values:
        return 255 * abs(Numbers(self.patch**2).example(ids))


@dataclass(frozen=True)
class Fertility(Annotation):
    """How many target pieces come from each source piece (Gu et al. 2017, arXiv 1711.02281).

    Made from links between words so that the sum is the number of target pieces: each target word
    comes from one source word, and its pieces are spread over those of that word. EOS comes from
    EOS. Where the links or the target are not known, neither are the fertilities.
    """

    name = "fertility"
    fill = 1
    option = "alignments"
    reads_target = True
    description = "the word alignment of each training pair"

    def read(self, line: Line, text: str, where: str) -> Line:
        words, links = len(line.text.split()), []
        for part in text.split():
            match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", part, re.ASCII)
            if match is None:
                raise UsageError(
                    f"{where} has '{part[:_SHOWN]}' among the links: write source-target, such as "
                    "0-0 1-2, as 'regard align' does."
                )
            links.append((int(match[1]), int(match[2])))
        if wrong := [source for source, _ in links if source >= words]:
            raise UsageError(
                f"{where} links source word {wrong[0]}, but there are {words:,}: count them from 0."
            )
        return line._replace(links=tuple(links))

    def check_pair(self, line: Line, target: Line, where: str) -> None:
        words = len(target.text.split())
        if wrong := [index for _, index in line.links or () if index >= words]:
            raise UsageError(
                f"The alignment of {where} links target word {wrong[0]}, but there are {words:,}: "
                "count them from 0."
            )

    def write(self, line: Line) -> str:
        return " ".join(f"{source}-{target}" for source, target in line.links or ())

    def of_pieces(self, line: Line, words: Words) -> Values:
        return np.full(sum(map(len, words)), UNKNOWN_FERTILITY)

    def of_pair(self, line: Line, words: Words, target: Words) -> Values:
        starts = np.cumsum([0, *map(len, words)])
        if line.links is None or not starts[-1]:
            return self.of_pieces(line, words)
        fertility = np.zeros(starts[-1], np.int64)
        origins = source_words(line.links, len(words), len(target))
        for origin, pieces in zip(origins, target, strict=True):
            for index in range(len(pieces)):
                fertility[starts[origin] + index * len(words[origin]) // len(pieces)] += 1
        return fertility

    def example(self, ids: Sequence[int]) -> Values:
        return np.full(len(ids), UNKNOWN_FERTILITY)


UNKNOWN_FERTILITY = -1


ANNOTATIONS: dict[str, Annotation] = {
    kind.name: kind
    for kind in (
        DependencyTree(),
        WordIndex(),
        Letters(),
        SentenceIndex(),
        Numbers(),
        Pixels(),
        Fertility(),
    )
}
"""Every kind of annotation by its name, with the settings it has by default."""

Kinds = tuple[Annotation, ...]


def load(line: Line, kinds: Kinds, folder: Path, where: str) -> Line:
    """The line that a model of these annotations reads, checked."""
    for kind in kinds:
        line = kind.load(line, folder, where)
        kind.check(line, where)
    return line


def join(words: Words) -> list[int]:
    """The ids of a line, from those of its words."""
    return list(chain.from_iterable(words))


def _numbers(line: Line) -> list[list[float]]:
    """Those of each word of a line that was checked."""
    return [list(map(float, word.split(","))) for word in line.text.split()]


def _is_number(text: str) -> bool:
    """Whether a model can compute with it; Python would take 1_000 and spaces as well."""
    plain = re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text, re.ASCII)
    return plain is not None and abs(float(text)) <= MAX_NUMBER
