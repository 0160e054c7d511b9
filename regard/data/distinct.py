"""Which of very many items repeat an earlier one, found in bounded memory."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, Optional

import numpy as np
from numpy.typing import NDArray

RUN = 1 << 21
"""Hashes that are sorted at a time: about 110 MB with what sorting and merging need."""

_BLOCK = 1 << 16  # flags that are unpacked at a time, a multiple of 8

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Distinct:
    """The items that no earlier one equals: a bit for each item."""

    _bits: NDArray[np.uint8]
    _count: int

    def __len__(self) -> int:
        return self._count

    def indices(self, ranks: Integers) -> Integers:
        """Those of the distinct items of these ranks, counted from 0."""
        found, before = np.empty(len(ranks), np.int64), 0
        for start in range(0, len(self._bits), _BLOCK // 8):
            flags = np.unpackbits(self._bits[start : start + _BLOCK // 8])
            here = 8 * start + np.flatnonzero(flags)
            own = (ranks >= before) & (ranks < before + len(here))
            found[own] = here[ranks[own] - before]
            before += len(here)
        return found


class Hashes:
    """The hash of each item, in sorted runs; all but the last are in a temporary file."""

    def __init__(self) -> None:
        self._last = array("q")
        self._file: Optional[IO[bytes]] = None
        self._runs = 0

    def __len__(self) -> int:
        return self._runs * RUN + len(self._last)

    def append(self, value: int) -> None:
        self._last.append(value)
        if len(self._last) == RUN:
            if self._file is None:
                self._file = TemporaryFile()  # noqa: SIM115 (lives as long as this)
            for part in _sorted(self._last):
                self._file.write(part.tobytes())
            self._last = array("q")
            self._runs += 1

    def distinct(self) -> Distinct:
        """Ranges of values are merged one after the other, each about as large as a run."""
        runs = self._sorted_runs()
        edges = np.linspace(-(2**63), 2**63 - 1, len(runs) + 1)[1:-1].astype(np.int64)
        bounds = [[0, *np.searchsorted(values, edges).tolist(), len(values)] for values, _ in runs]
        bits, count = np.zeros(-(-len(self) // 8), np.uint8), 0
        for number in range(len(runs)):
            some = [slice(bound[number], bound[number + 1]) for bound in bounds]
            values = np.concatenate([run[0][part] for run, part in zip(runs, some, strict=True)])
            places = np.concatenate(
                [
                    run[1][part] + np.int64(RUN * index)
                    for index, (run, part) in enumerate(zip(runs, some, strict=True))
                ]
            )
            first = places[np.unique(values, return_index=True)[1]]
            np.bitwise_or.at(bits, first >> 3, (128 >> (first & 7)).astype(np.uint8))
            count += len(first)
        return Distinct(bits, count)

    def _sorted_runs(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """The sorted hashes of each run, and the index within the run of each."""
        found: list[tuple[NDArray[Any], NDArray[Any]]] = []
        if self._file is not None:
            self._file.flush()
            for start in range(0, 12 * RUN * self._runs, 12 * RUN):
                values = np.memmap(self._file, np.int64, "r", start, (RUN,))
                found.append(
                    (values, np.memmap(self._file, np.uint32, "r", start + 8 * RUN, (RUN,)))
                )
        return [*found, _sorted(self._last)]


def _sorted(hashes: array[int]) -> tuple[Integers, NDArray[np.uint32]]:
    values = np.array(hashes, np.int64)
    order = np.argsort(values, kind="stable").astype(np.uint32)
    return values[order], order
