"""Pairs that preparing a run reads several times: from disk once, if they fit in memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from itertools import islice

from regard.data.corpus import Pairs, Report
from regard.data.line import Pair

MEMORY = 1 << 28
"""Bytes of pairs held; a larger corpus is read from its files each time."""

_CHUNK = 4096


class Reread:
    """The usable pairs of some files; the first pass, which must be complete, checks them."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self._chunks: list[bytes] | None = None

    def first(self) -> Iterator[Pair]:
        """The first pass, from the files."""
        chunks: list[bytes] | None = []
        for chunk in _chunks(self._pairs):
            if chunks is not None:
                chunks.append(pickle.dumps(chunk))
                if sum(map(len, chunks)) > MEMORY:
                    chunks = None
            yield from chunk
        self._chunks = chunks

    @property
    def report(self) -> Report:
        """What the first pass found."""
        assert self._pairs.report is not None
        return self._pairs.report

    def __iter__(self) -> Iterator[Pair]:
        if self._chunks is None:
            yield from self._pairs
        else:
            for chunk in self._chunks:
                yield from pickle.loads(chunk)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    stream = iter(pairs)
    while chunk := list(islice(stream, _CHUNK)):
        yield chunk
