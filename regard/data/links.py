"""Which source word each target word comes from, by the links between them."""

from __future__ import annotations

from collections.abc import Sequence


def source_words(links: Sequence[tuple[int, int]], sources: int, targets: int) -> list[int]:
    """The source word of each target word.

    Of several that are linked, it is the nearest to the diagonal; a word without links takes that
    of the nearest word with links; where there are none at all, the diagonal decides.
    """
    linked: dict[int, list[int]] = {}
    for source, target in links:
        linked.setdefault(target, []).append(source)

    def diagonal(target: int) -> float:
        return (target + 0.5) * sources / targets - 0.5

    found = {
        target: min(sorted(some), key=lambda source: abs(source - diagonal(target)))
        for target, some in linked.items()
    }
    if not found:
        return [min(sources - 1, target * sources // targets) for target in range(targets)]
    nearest = [min(sorted(found), key=lambda each: abs(each - t)) for t in range(targets)]
    return [found[each] for each in nearest]
