"""Which target pieces go with a source piece, learned from encoded pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.store import Store

ROUNDS = 5
PLACES = 2**24
"""Source and target places met at most; of a larger corpus, pairs at even distances are read."""


def likely_targets(store: Store, source_size: int, count: int) -> NDArray[np.int32]:
    """(source pieces, count) of target ids, the likeliest first; 0 (PAD) where there are fewer.

    The probabilities p(target piece | source piece) are those of IBM model 1 (Brown et al. 1993):
    each target piece comes from one source piece of its pair, by expectation maximisation.
    """
    source, target, place = _meetings(store)
    size = int(target.max()) + 1
    known, meeting = np.unique(source * size + target, return_inverse=True)
    parent, child = known // size, known % size
    chance = np.ones(len(known))
    for _ in range(ROUNDS):
        share = chance[meeting]
        share /= np.bincount(place, share)[place]
        weight = np.bincount(meeting, share, len(known))
        chance = weight / np.bincount(parent, weight)[parent]
    order = np.lexsort((-chance, parent))
    parent, child = parent[order], child[order]
    first = np.searchsorted(parent, parent)
    rank = np.arange(len(parent)) - first
    likely = np.zeros((source_size, count), np.int32)
    kept = rank < count
    likely[parent[kept], rank[kept]] = child[kept]
    return likely


def _meetings(store: Store) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Each source id met by each target id of its pair, and at which target place of all."""
    rows = np.arange(len(store))
    total = int((store.source.lengths(rows) * store.target.lengths(rows)).sum())
    rows = rows[:: -(-total // PLACES) or 1]
    sources, targets = store.source.gather(rows), store.target.gather(rows)
    source_lengths = np.diff(sources.offsets)
    met = np.repeat(source_lengths, np.diff(targets.offsets))  # how many each target place meets
    begin = np.repeat(sources.offsets[:-1], np.diff(targets.offsets))
    place = np.repeat(np.arange(len(met)), met)
    inside = np.arange(len(place)) - np.repeat(np.cumsum(met) - met, met)
    source = sources.values[np.repeat(begin, met) + inside].astype(np.int64)
    return source, targets.values[place].astype(np.int64), place
