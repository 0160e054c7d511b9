"""Which words or pieces of the target go with one of the source, learned from pairs of ids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.ragged import Ragged
from regard.data.store import Store

ROUNDS = 5
MAX_COOCCURRENCES = 2**24
"""At most this many co-occurrences are counted; a larger corpus is sampled evenly."""

Ids = NDArray[np.int64]


class Links(NamedTuple):
    """Pairs of ids that occur together: p(target | source), and how often the target is
    `expected` to come from the source."""

    source: Ids
    target: Ids
    probability: NDArray[np.float64]
    expected: NDArray[np.float64]


def likely_targets(store: Store, source_size: int, count: int) -> NDArray[np.int32]:
    """(source pieces, count) of target ids, the likeliest first; 0 (PAD) where there are fewer."""
    rows = np.arange(len(store))
    total = int((store.source.lengths(rows) * store.target.lengths(rows)).sum())
    rows = rows[:: -(-total // MAX_COOCCURRENCES) or 1]
    parent, child, probability, _ = learn_links(
        store.source.gather(rows), store.target.gather(rows)
    )
    order = np.lexsort((-probability, parent))
    parent, child = parent[order], child[order]
    first = np.searchsorted(parent, parent)
    rank = np.arange(len(parent)) - first
    likely = np.zeros((source_size, count), np.int32)
    kept = rank < count
    likely[parent[kept], rank[kept]] = child[kept]
    return likely


def learn_links(sources: Ragged, targets: Ragged, rounds: int = ROUNDS) -> Links:
    """The probabilities are those of IBM model 1 (Brown et al. 1993): each target comes from one
    source of its pair, by expectation maximisation."""
    source, target, position = cooccurrences(sources, targets)
    size = int(target.max()) + 1
    known, pair_index = np.unique(source * size + target, return_inverse=True)
    parent, child = known // size, known % size
    probability = np.ones(len(known))
    weight: NDArray[np.float64] = probability
    for _ in range(rounds):
        share = probability[pair_index]
        share /= np.bincount(position, share)[position]
        weight = np.bincount(pair_index, share, len(known)).astype(np.float64)
        probability = weight / np.bincount(parent, weight)[parent]
    return Links(parent, child, probability, weight)


def cooccurrences(sources: Ragged, targets: Ragged) -> tuple[Ids, Ids, Ids]:
    """Every source id with every target id of its pair, and the index of the target position."""
    source_lengths = np.diff(sources.offsets)
    met = np.repeat(source_lengths, np.diff(targets.offsets))  # source pieces per target position
    begin = np.repeat(sources.offsets[:-1], np.diff(targets.offsets))
    position = np.repeat(np.arange(len(met)), met)
    inside = np.arange(len(position)) - np.repeat(np.cumsum(met) - met, met)
    source = sources.values[np.repeat(begin, met) + inside].astype(np.int64)
    return source, targets.values[position].astype(np.int64), position
