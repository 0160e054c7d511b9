"""One pass over a corpus: finds what is wrong with it, and writes a cleaned copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import Pairs
from regard.data.damage import normalised
from regard.data.doctor import Examiner
from regard.diagnosis.alignment import MAX_SHIFT
from regard.diagnosis.blocks import Block, Blocks, take_sample
from regard.diagnosis.cleaning import Cleaner
from regard.diagnosis.duplicates import Seen, Similar
from regard.diagnosis.held import Held
from regard.diagnosis.kinds import Marks, bits_of, explained, has, mark
from regard.diagnosis.report import Stretch
from regard.diagnosis.rules import Looked, Rules, lines_of
from regard.diagnosis.shifts import ALIGNED, UNRELATED, Tracker
from regard.diagnosis.tally import Tally
from regard.errors import UsageError
from regard.metrics.table import Writes
from regard.terminal import Count


class Turn(NamedTuple):
    """A block with what was found in it."""

    block: Block
    looked: Looked


class Examined(NamedTuple):
    """What one pass over a corpus found."""

    tally: Tally
    stretches: tuple[Stretch, ...]
    rules: Optional[Rules]
    examiner: Examiner
    problem: Optional[UsageError]
    sample: Sequence[Block]


class _Stopped(Exception):
    """The corpus cannot be read to its end."""


def examine(
    pairs: Pairs,
    writes: Writes,
    sides: tuple[int, ...],
    held: Sequence[Held],
    cleaner: Optional[Cleaner],
    count: Count,
) -> Examined:
    """Look at every pair; what is damaged goes into the list of the cleaner, all else to its copy.

    Held at any time are the sample, three blocks, and the bounded sets of each part.
    """
    blocks = Blocks(pairs)
    stream = iter(blocks)
    sample = take_sample(stream)
    tally, examiner = Tally(pairs.portions), Examiner(writes)
    rules: Optional[Rules] = None
    stretches: list[Stretch] = []
    with suppress(_Stopped), ExitStack() as stack:
        if cleaner is not None:
            stack.enter_context(cleaner)
        if any(each.pair is not None for block in sample for each in block.entries):
            rules = Rules(sample, sides)
            examination = _Pass(pairs, rules, held)
            for turn in examination.turns(chain(sample, stream)):
                _note_pairs(turn, examiner)
                removable = _removable(turn.looked.marks, rules)
                tally.add(*turn, removable)
                if cleaner is not None:
                    cleaner.write(turn.block, removable)
                count(len(turn.block))
            stretches = examination.stretches
        if blocks.problem is not None:
            raise _Stopped
    return Examined(tally, tuple(stretches), rules, examiner, blocks.problem, sample)


def _note_pairs(turn: Turn, examiner: Examiner) -> None:
    for entry in turn.block.entries:
        if entry.pair is not None:
            examiner.add(entry.pair)


def _removable(marks: Marks, rules: Rules) -> Marks:
    """Without the kinds that are the task of this corpus."""
    return np.asarray(marks & ~bits_of(rules.tasks))


class _Pass:
    """Everything that is remembered from block to block."""

    def __init__(self, pairs: Pairs, rules: Rules, held: Sequence[Held]) -> None:
        self._pairs = pairs
        self._rules = rules
        self._held = held
        self._exact, self._nearly, self._similar = Seen(), Seen(), Similar()
        if rules.form.exact:
            for each in held:
                each.compare_exactly()
        self._tracker = None if rules.alignment is None else Tracker(rules.alignment)
        self._open: Optional[Stretch] = None  # it may go on in the next block
        self.stretches: list[Stretch] = []

    def turns(self, blocks: Iterator[Block]) -> Iterator[Turn]:
        """Each block once the one after it is known, to which lines may be shifted."""
        before: Optional[Turn] = None
        current: Optional[Turn] = None
        for block in blocks:
            following = Turn(block, self._rules.look(block))
            if current is not None:
                yield self._finished(before, current, following)
            before, current = current, following
        if current is not None:
            yield self._finished(before, current, None)
        self._close()

    def _finished(self, before: Optional[Turn], turn: Turn, after: Optional[Turn]) -> Turn:
        block, looked = turn
        if before is not None and before.block.portion != block.portion:
            before = None
            self._close()
            if self._tracker is not None:
                self._tracker.restart()
        if after is not None and after.block.portion != block.portion:
            after = None
        self._align(before, turn, after)
        self._find_repeated(block, looked.marks)
        self._compare(block, looked)
        return turn

    def _align(self, before: Optional[Turn], turn: Turn, after: Optional[Turn]) -> None:
        if self._tracker is None or self._rules.alignment is None:
            return
        parts = [
            _part(before, slice(-MAX_SHIFT, None)),
            _part(turn),
            _part(after, slice(MAX_SHIFT)),
        ]
        ids = [[line for part in parts for line in part[0][side]] for side in (0, 1)]
        lengths = [np.concatenate([part[1][side] for part in parts]) for side in (0, 1)]
        lines, begin = lines_of(ids, lengths), len(parts[0][1][0])
        end = begin + len(turn.block)
        marks = turn.looked.marks
        known = explained(_removable(marks, self._rules))
        states = self._tracker.states(lines, begin, end, known)
        shifted = (states != ALIGNED) & (states != UNRELATED)
        usable = ~has(marks, "unusable")
        mark(marks, "misaligned", (shifted | (states == UNRELATED) & ~known) & usable)
        apart = self._rules.alignment.unrelated(lines)[begin:end]
        mark(marks, "unrelated", apart & (states == ALIGNED) & ~known & usable)
        self._follow(turn.block, states)

    def _follow(self, block: Block, states: NDArray[np.int8]) -> None:
        """Add to the stretch that is open, or begin others."""
        starts = np.flatnonzero(np.diff(states, prepend=-1))
        ends = [*(starts[1:] - 1), len(states) - 1]
        portion = self._pairs.portions[block.portion]
        for start, end in zip(starts.tolist(), map(int, ends), strict=True):
            shift = None if states[start] == UNRELATED else int(states[start]) - ALIGNED
            if self._open is not None and (start or self._open.shift != shift):
                self._close()
            if shift == 0:
                continue
            first, last = (
                portion.where(0, block.entries[index].record.line) for index in (start, end)
            )
            before = self._open or Stretch(first, last, 0, shift)
            self._open = replace(before, last=last, pairs=before.pairs + end - start + 1)

    def _close(self) -> None:
        if self._open is not None:
            self.stretches.append(self._open)
        self._open = None

    def _find_repeated(self, block: Block, marks: Marks) -> None:
        entries = [(index, each.pair) for index, each in enumerate(block.entries) if each.pair]
        if not entries:
            return
        rows = np.array([index for index, _ in entries])
        exact = self._exact.add(_hashes([hash(pair.texts) for _, pair in entries]))
        nearly = np.zeros(len(entries), bool)
        if not self._rules.form.exact:
            plain = ["\t".join(map(normalised, pair.texts)) for _, pair in entries]
            nearly = self._nearly.add(_hashes(list(map(hash, plain)))) | self._similar.add(plain)
        for name, found in (("duplicate", exact), ("near-duplicate", nearly & ~exact)):
            repeated = np.zeros(len(block), bool)
            repeated[rows[found]] = True
            mark(marks, name, repeated)

    def _compare(self, block: Block, looked: Looked) -> None:
        for held in self._held:
            met = [each.pair is not None and held.meets(each.pair) for each in block.entries]
            mark(looked.marks, "overlap", np.array(met, bool))
            for side in self._rules.sides:
                held.learn(looked.words[side], side)


def _part(
    turn: Optional[Turn], rows: slice = slice(None)
) -> tuple[list[list[list[int]]], list[NDArray[np.int64]]]:
    """Ids and lengths of some lines."""
    if turn is None:
        return [[], []], [np.zeros(0, np.int64)] * 2
    return [each[rows] for each in turn.looked.ids], [each[rows] for each in turn.looked.lengths]


def _hashes(values: list[int]) -> NDArray[np.uint64]:
    return np.array(values, np.int64).view(np.uint64)
