"""Everything that is looked for in a pair, with what is usual in this corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import Entry
from regard.data.damage import (
    LIKELY_TASK,
    has_controls,
    has_markup,
    is_copy,
    is_extreme,
    is_garbled,
    words_of,
)
from regard.diagnosis.alignment import Alignment, Lines, learn_alignment
from regard.diagnosis.association import Vocabulary, ragged
from regard.diagnosis.blocks import Block
from regard.diagnosis.forms import FEWEST_DIFFERENT, LANGUAGE, form_of
from regard.diagnosis.kinds import KINDS, Marks, has, mark
from regard.diagnosis.lengths import Lengths
from regard.diagnosis.tongues import Tongue

_TRIED = 2_000
_LINE_RULES = {"encoding": is_garbled, "control": has_controls, "markup": has_markup}

Words = list[list[str]]
Key = tuple[int, Optional[str]]


class Looked(NamedTuple):
    """What one look at a block found: marks, the words of each side, and their ids."""

    marks: Marks
    words: Sequence[Words]
    ids: Sequence[list[list[int]]]
    lengths: Sequence[NDArray[np.int64]]


class Rules:
    """The rules of one corpus, by the form of its lines.

    `sides` are those that are text: both, the target of a language model, or the source where the
    targets are labels or tags.
    """

    def __init__(self, sample: Sequence[Block], sides: tuple[int, ...]) -> None:
        entries = [each for block in sample for each in block.entries if each.pair is not None]
        self.form = LANGUAGE if sides == (1,) else form_of(list(map(_texts, entries)))
        self.sides = tuple(side for side in sides if side in self.form.sides)
        self.tongues = _learn_tongues(entries, self.sides)
        counts = [Counter[str](), Counter[str]()]
        for entry in entries:
            for side in self.sides:
                counts[side].update(words_of(_text(entry, side)))
        self._vocabularies = [Vocabulary(each) for each in counts]
        self.lengths: Optional[Lengths] = None
        self.alignment: Optional[Alignment] = None
        self.tasks = frozenset[str]()
        if self.are_both_text:
            self._learn_pairs(sample)
        self.tasks = self._usual_kinds(sample)

    @property
    def are_both_text(self) -> bool:
        return self.sides == (0, 1)

    @property
    def is_alignment_unknown(self) -> bool:
        """Whether nothing was learned about which lines belong together, though they should."""
        return self.are_both_text and self.form.aligned and self.alignment is None

    def look(self, block: Block) -> Looked:
        """Everything that a line or a pair shows by itself."""
        words: list[Words] = [[[]] * len(block), [[]] * len(block)]
        marks = np.zeros(len(block), np.uint32)
        mark(marks, "unusable", np.array([each.pair is None for each in block.entries], bool))
        texts = [block.texts(side) for side in (0, 1)]
        for side in self.sides:
            words[side] = list(map(words_of, texts[side]))
            for name, rule in _LINE_RULES.items():
                mark(marks, name, _where(map(rule, texts[side]), len(block)))
        for side in self.sides:
            self._look_at_languages(block, side, texts[side], words, marks)
        lengths = [np.fromiter(map(len, each), np.int64, len(block)) for each in texts]
        if self.are_both_text:
            mark(marks, "untranslated", _where(map(is_copy, *texts), len(block)))
        if self.are_both_text and self.form.proportional:
            mark(marks, "length", _where(map(is_extreme, *texts), len(block)))
            if self.lengths is not None:
                mark(marks, "length", self.lengths.unusual(*lengths))
        ids = [list(map(self._vocabularies[side].encode, words[side])) for side in (0, 1)]
        return Looked(marks, words, ids, lengths)

    def _look_at_languages(
        self, block: Block, side: int, texts: Sequence[str], words: Sequence[Words], marks: Marks
    ) -> None:
        scripts, languages = np.zeros(len(block), bool), np.zeros(len(block), bool)
        for index, entry in enumerate(block.entries):
            tongue = self.tongues.get(_key(entry, side))
            if entry.pair is None or tongue is None:
                continue
            scripts[index] = tongue.is_in_another_script(texts[index])
            other = self.tongues.get(_key(entry, 1 - side), tongue)
            found = tongue.another_language(texts[index], words[side][index], other)
            languages[index] = found is not None
        mark(marks, "script", scripts)
        mark(marks, "language", languages)

    def _learn_pairs(self, sample: Sequence[Block]) -> None:
        """Which lengths and words go together, from lines that show no damage by themselves."""
        damaged = np.concatenate([self.look(block).marks > 0 for block in sample])
        texts = [[text for block in sample for text in block.texts(side)] for side in (0, 1)]
        texts = [
            ["" if bad else text for text, bad in zip(each, damaged.tolist(), strict=True)]
            for each in texts
        ]
        lengths = [np.fromiter(map(len, each), np.int64, len(each)) for each in texts]
        ids = [
            [vocabulary.encode(words_of(text)) for text in each]
            for vocabulary, each in zip(self._vocabularies, texts, strict=True)
        ]
        self.lengths = Lengths(*lengths)
        if self.form.aligned:
            self.alignment = learn_alignment(lines_of(ids, lengths), self.lengths)

    def _usual_kinds(self, sample: Sequence[Block]) -> frozenset[str]:
        """Kinds that most pairs have, which are the task rather than damage."""
        entries = [each for block in sample for each in block.entries]
        entries = entries[:: -(-len(entries) // _TRIED) or 1]
        if len(entries) < FEWEST_DIFFERENT:
            return frozenset()
        marks = self.look(Block(0, 1, entries)).marks
        likely = [kind.name for kind in KINDS if kind.may_be_task]
        return frozenset(name for name in likely if has(marks, name).mean() > LIKELY_TASK)


def lines_of(ids: Sequence[list[list[int]]], lengths: Sequence[NDArray[np.int64]]) -> Lines:
    return Lines(ragged(ids[0]), ragged(ids[1]), lengths[0], lengths[1])


def _where(found: object, size: int) -> NDArray[np.bool_]:
    return np.fromiter(found, bool, size)  # type: ignore[call-overload]


def _texts(entry: Entry) -> tuple[str, str]:
    assert entry.pair is not None
    return entry.pair.texts


def _text(entry: Entry, side: int) -> str:
    return _texts(entry)[side]


def _key(entry: Entry, side: int) -> Key:
    """Lines that should be in the same language: of a side, or of a language if it is known."""
    known = None if entry.pair is None else entry.pair.languages
    return (side, None if known is None else known[side])


def _learn_tongues(entries: Sequence[Entry], sides: Sequence[int]) -> dict[Key, Tongue]:
    lines: dict[Key, list[str]] = {}
    for entry in entries:
        for side in sides:
            lines.setdefault(_key(entry, side), []).append(_text(entry, side))
    return {key: Tongue(each, key[1]) for key, each in lines.items()}
