"""The corpora by name: each is generated from a seed and written as train, valid and test files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Optional

from regard.corpora import algorithms, drawn_words, grammar, listops, points, summaries
from regard.corpora.writing import check_folder
from regard.errors import UsageError
from regard.messages import unknown
from regard.terminal import counting


def _write_grammar(pairs: int, seed: int, folder: Path) -> None:
    grammar.write(grammar.generate(pairs, seed), folder)


def _write_listops(pairs: int, seed: int, folder: Path) -> None:
    listops.write(listops.generate(pairs, seed), folder)


def _write_summaries(pairs: int, seed: int, folder: Path) -> None:
    algorithms.write(summaries.generate(pairs, seed), folder)


def _write_task(name: str, pairs: int, seed: int, folder: Path) -> None:
    algorithms.write(algorithms.generate(name, pairs, seed), folder)


def _write_drawn_words(pairs: int, seed: int, folder: Path) -> None:
    with counting("drawing", pairs) as count:
        drawn_words.write(drawn_words.generate(pairs, seed, count=count), folder)


def _write_points(
    name: str, pairs: int, seed: int, folder: Path, sizes: points.Sizes = points.TRAINED_SIZES
) -> None:
    with counting("generating", points.total_pairs(name, pairs)) as count:
        corpus = points.generate(name, pairs, seed, sizes=sizes, count=count)
    algorithms.write(corpus, folder)


CORPORA: dict[str, Callable[[int, int, Path], None]] = {
    "grammar": _write_grammar,
    "listops": _write_listops,
    "drawn_words": _write_drawn_words,
    "summaries": _write_summaries,
    **{name: partial(_write_task, name) for name in algorithms.TASKS},
    **{name: partial(_write_points, name) for name in points.TASKS},
}


def write_corpus(
    name: str, folder: Path, pairs: int, seed: int = 1, sizes: Optional[points.Sizes] = None
) -> None:
    """Write the named corpus, with this many training pairs, to a folder; `sizes` are the fewest
    and the most points of a line in training, where lines are points."""
    if name not in CORPORA:
        raise UsageError(unknown("corpus", name, CORPORA))
    write = CORPORA[name]
    if sizes is not None:
        if name not in points.TASKS:
            raise UsageError(f"The lines of {name} are not points; remove --points.")
        write = partial(_write_points, name, sizes=sizes)
    check_folder(folder)
    try:
        write(pairs, seed, folder)
    except ValueError as error:
        raise UsageError(f"{error}") from None
