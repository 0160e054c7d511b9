"""Pairs that preparing a run goes through several times, read from their files only once."""

from __future__ import annotations

import json
import weakref
from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Optional

from regard.data.corpus import Pairs, Portion, Report
from regard.data.distinct import Distinct, Hashes
from regard.data.languages import Languages
from regard.data.line import Line, Pair
from regard.data.zstandard import compress, decompress

MAX_MEMORY = 1 << 28
"""Bytes of compressed pairs kept in memory; more of them go to a temporary file."""

_CHUNK = 1 << 20
_FASTEST = 1


class Reread:
    """The usable pairs of some files.

    The first pass, which must be complete, checks the files and copies the pairs; later passes read
    the copy. So what is encoded is what was checked, whatever happens to the files meanwhile.
    """

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        stack = ExitStack()
        self._copy = stack.enter_context(SpooledTemporaryFile(MAX_MEMORY))
        weakref.finalize(self, stack.close)
        self._sizes = array("q")  # of the chunks of the copy
        self._hashes = Hashes()  # of the texts of each pair
        self._distinct: Optional[Distinct] = None

    def first(self) -> Iterator[Pair]:
        """The first pass, from the files."""
        waiting, size = list[bytes](), 0
        for pair in self._pairs:
            waiting.append(json.dumps(pair).encode("ascii"))
            size += len(waiting[-1])
            if size > _CHUNK:
                self._write(waiting)
                waiting, size = [], 0
            self._hashes.append(hash(pair.texts))
            yield pair
        self._write(waiting)

    def _write(self, lines: list[bytes]) -> None:
        chunk = compress(b"\n".join(lines), _FASTEST)
        self._copy.write(chunk)
        self._sizes.append(len(chunk))

    def distinct(self) -> Distinct:
        """The pairs whose texts no earlier pair has."""
        if self._distinct is None:
            self._distinct = self._hashes.distinct()
        return self._distinct

    def where(self, number: int) -> str:
        """File and line of a pair's target."""
        return self._pairs.where(1, number)

    @property
    def choices(self) -> dict[str, list[str]]:
        """What was chosen of the files, or about them, besides their bytes; only what was given."""
        columns = [str(each.columns) for each in self._pairs.portions if each.columns is not None]
        weights = [str(each.weight) for each in self._pairs.portions]
        given = {
            "columns": columns[:1],
            "weights": weights if set(weights) != {"1"} else [],
            "languages": self._pairs.languages,
        }
        return {name: values for name, values in given.items() if values}

    @property
    def report(self) -> Report:
        """The findings of the first pass."""
        assert self._pairs.report is not None
        return self._pairs.report

    def __iter__(self) -> Iterator[Pair]:
        offset = 0
        for size in self._sizes:
            self._copy.seek(offset)  # another pass may have moved it
            offset += size
            for line in decompress(self._copy.read(size)).splitlines():
                number, source, target, languages = json.loads(line)
                known = None if languages is None else Languages(*languages)
                yield Pair(number, _line(source), _line(target), known)

    def portions(self) -> Iterator[tuple[Portion, Iterator[Pair]]]:
        """The pairs of each portion, of which not all have to be taken."""
        pairs = iter(self)
        for portion, kept in zip(self._pairs.portions, self.report.kept_of, strict=True):
            own = islice(pairs, kept)
            yield portion, own
            deque(own, maxlen=0)

    def weighted(self) -> Iterator[Pair]:
        """What an epoch has: each pair as often as the weight of its files says.

        Of a weight with a fraction, pairs spread evenly over the files make up for the fraction:
        n pairs with the weight w are n * w in all, rounded up.
        """
        for portion, pairs in self.portions():
            times, parts = portion.weight.as_integer_ratio()
            for index, pair in enumerate(pairs):
                copies = -(-(index + 1) * times // parts) + (-index * times // parts)
                for _ in range(copies):
                    yield pair


_Links = list[tuple[int, int]]


def _line(values: tuple[str, Optional[list[int]], Optional[_Links]]) -> Line:
    text, tree, links = values
    return Line(
        text,
        None if tree is None else tuple(tree),
        None if links is None else tuple((source, target) for source, target in links),
    )
