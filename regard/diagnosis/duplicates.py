"""Pairs that were there before, exactly or nearly, found with bounded memory."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]

MAX_HELD = 2**22
"""Hashes of a set in memory, 32 MB; more of them go to temporary files, 8 bytes each."""


class Seen:
    """A set of 64-bit hashes of any size: sorted runs, the full ones in temporary files."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="regard-")
        weakref.finalize(self, self._folder.cleanup)
        self._held: list[Hashes] = []
        self._files: list[Hashes] = []

    def add(self, hashes: Hashes) -> Mask:
        """Add them, and tell which were there already, or earlier among these."""
        distinct, first = np.unique(hashes, return_index=True)
        known = np.zeros(len(distinct), bool)
        for run in (*self._held, *self._files):
            known |= _among(distinct, run)
        repeated = np.ones(len(hashes), bool)
        repeated[first[~known]] = False
        self._keep(distinct[~known])
        return repeated

    def _keep(self, new: Hashes) -> None:
        """Runs of about the same size are merged, so that there are few."""
        self._held.append(new)
        while len(self._held) > 1 and len(self._held[-2]) < 2 * len(self._held[-1]):
            last = self._held.pop()
            self._held[-1] = np.union1d(self._held[-1], last)
        if sum(map(len, self._held)) > MAX_HELD:
            path = Path(self._folder.name) / f"{len(self._files)}.npy"
            np.save(path, np.unique(np.concatenate(self._held)))
            self._files.append(np.load(path, mmap_mode="r"))
            self._held = []


def _among(values: Hashes, run: Hashes) -> Mask:
    if not len(run):
        return np.zeros(len(values), bool)
    index = np.minimum(np.searchsorted(run, values), len(run) - 1)
    return np.asarray(run[index] == values)


SPAN = 5
"""Bytes of the sequences that two lines have in common."""

PARTS = 32
BANDS = 8
SIMILAR = 0.875
REMEMBERED = 2**18
"""Pairs that a new one is compared with, 32 MB of signatures; older ones are forgotten."""

_SHORTEST = 60
"""Bytes of a pair below which one word makes all the difference."""

_NONE = np.uint32(0xFFFFFFFF)


class Similar:
    """Pairs of which about seven eighths of the sequences of five bytes are those of another.

    By one-permutation minwise hashing (Li, Owen & Zhang 2012): the hashes of the sequences are
    spread over 32 parts, and the smallest of each is the signature. Two pairs that agree in one of
    8 bands of it are compared.
    """

    def __init__(self) -> None:
        self._signatures = np.full((REMEMBERED, PARTS), _NONE, np.uint32)
        self._tables = np.full((BANDS, 2 * REMEMBERED), -1, np.int32)
        self._next = 0

    def add(self, texts: Sequence[str]) -> Mask:
        """Add the texts, and tell which are similar to one of those remembered."""
        size = REMEMBERED // 8
        parts = [self._add(texts[start : start + size]) for start in range(0, len(texts), size)]
        return np.concatenate([np.zeros(0, bool), *parts])

    def _add(self, texts: Sequence[str]) -> Mask:
        signatures, judged = _signatures(texts)
        keys = _band_keys(signatures)
        rows = (self._next + np.arange(len(texts))) % REMEMBERED
        self._signatures[rows] = np.where(judged[:, None], signatures, _NONE)
        self._next += len(texts)
        found = np.zeros(len(texts), bool)
        for band in range(BANDS):
            table = self._tables[band]
            earlier = table[keys[band]]
            # within a block, the one before with the same key is compared too
            before = _previous(keys[band])
            inside = np.where(before >= 0, rows[before], -1)
            for other in (earlier, inside):
                may = judged & (other >= 0) & (other != rows)
                found |= may & (_agreement(self._signatures[other], signatures) >= SIMILAR)
            table[keys[band]] = rows
        return found


def _agreement(some: NDArray[np.uint32], others: NDArray[np.uint32]) -> NDArray[np.float64]:
    """The share of parts in which two signatures are the same, of those that are not empty."""
    filled = (some != _NONE) | (others != _NONE)
    same = filled & (some == others)
    return np.asarray(same.sum(axis=1) / np.maximum(1, filled.sum(axis=1)))


def _previous(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each key the index of the same key before it, or -1."""
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    before = np.full(len(keys), -1, np.int64)
    before[order[1:][same]] = order[:-1][same]
    return before


def _signatures(texts: Sequence[str]) -> tuple[NDArray[np.uint32], Mask]:
    """(texts, PARTS), and which of them are long enough to be judged."""
    encoded = [text.encode() for text in texts]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    data = np.frombuffer(b"".join(encoded) + b"\0" * SPAN, np.uint8).astype(np.uint64)
    hashes = np.zeros(max(0, len(data) - SPAN), np.uint64)
    for offset in range(SPAN):
        hashes = hashes * np.uint64(257) + data[offset : offset + len(hashes)]
    hashes = (hashes + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    ends = np.repeat(np.cumsum(lengths), lengths)
    inside = np.arange(len(hashes)) + SPAN <= ends
    line = np.repeat(np.arange(len(texts)), lengths)[inside]
    hashes = hashes[inside]
    part = (hashes >> np.uint64(59)).astype(np.int64)
    values = ((hashes >> np.uint64(20)) & np.uint64(0x7FFFFFFF)).astype(np.uint32)
    signatures = np.full(len(texts) * PARTS, _NONE, np.uint32)
    np.minimum.at(signatures, line * PARTS + part, values)
    return signatures.reshape(len(texts), PARTS), lengths >= _SHORTEST


def _band_keys(signatures: NDArray[np.uint32]) -> NDArray[np.int64]:
    """(BANDS, texts): where each text belongs in the table of a band."""
    width = PARTS // BANDS
    keys = np.zeros((BANDS, len(signatures)), np.uint64)
    for column in range(width):
        keys = keys * np.uint64(0x100000001B3) + signatures[:, column::width].T
    keys ^= keys >> np.uint64(31)
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray((keys >> np.uint64(33)) % np.uint64(2 * REMEMBERED)).astype(np.int64)
