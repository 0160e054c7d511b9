"""Studies by name: one for a notebook, or a series of them that fills a folder and resumes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Optional

from regard.data.parallel import PathLike
from regard.errors import UsageError
from regard.messages import unknown
from regard.studies import NAMES
from regard.studies.base import Finding, Study
from regard.studies.laboratory import Laboratory
from regard.studies.results import Result, facts_of, read_result, result_of, save_result
from regard.studies.site import write_index, write_page

Say = Callable[[str], None]
SEEDS = (1, 2, 3)


def find_study(name: str) -> Study:
    if name not in NAMES:
        raise UsageError(unknown("study", name, NAMES))
    found: Study = import_module(f"regard.studies.{name}").STUDY
    return found


def study(
    name: str,
    output: Optional[PathLike] = None,
    *,
    quick: bool = False,
    seeds: Sequence[int] = SEEDS,
) -> Finding:
    """Measure one claim: its numbers, figure and verdict.

    Corpora, runs and the page are kept in the folder `output`; without one, nothing is.
    """
    with _folder(output) as folder:
        (result,) = run_studies([name], folder, quick, tuple(seeds), print, fresh=output is None)
    return result.finding


@contextmanager
def _folder(output: Optional[PathLike]) -> Iterator[Path]:
    if output is not None:
        yield Path(output)
        return
    with tempfile.TemporaryDirectory(prefix="regard-study-") as folder:
        yield Path(folder)


def run_studies(
    names: Sequence[str],
    folder: Path,
    quick: bool,
    seeds: tuple[int, ...],
    say: Say,
    fresh: bool = False,
) -> list[Result]:
    """Run studies one after the other into a folder of pages; finished ones are not repeated."""
    chosen = {name: find_study(name) for name in names}
    folder.mkdir(parents=True, exist_ok=True)
    laboratory = Laboratory(folder / "laboratory", quick, seeds, say)
    found: dict[str, tuple[Study, Result]] = {}
    for name, each in chosen.items():
        found[name] = (each, _run(name, each, laboratory, folder, say))
        if not fresh:
            write_page(folder, name, *found[name])
            write_index(folder, {**_earlier(folder, laboratory), **found}, len(NAMES))
    return [result for _, result in found.values()]


def _run(name: str, each: Study, laboratory: Laboratory, folder: Path, say: Say) -> Result:
    facts = facts_of(Path(__file__).with_name(f"{name}.py"), laboratory)
    stored = read_result(folder / f"{name}.json", facts)
    if stored is not None:
        say(f"{name}: measured before, on {stored.day}")
        return stored
    say(f"{name}: {each.claim}")
    began = time.perf_counter()
    result = result_of(each.measure(laboratory), time.perf_counter() - began, facts)
    save_result(folder / f"{name}.json", result)
    return result


def _earlier(folder: Path, laboratory: Laboratory) -> dict[str, tuple[Study, Result]]:
    """What is in the folder already, in the order of the list."""
    found = {}
    for name in NAMES:
        if not (folder / f"{name}.json").exists():
            continue
        facts = facts_of(Path(__file__).with_name(f"{name}.py"), laboratory)
        result = read_result(folder / f"{name}.json", facts)
        if result is not None:
            found[name] = (find_study(name), result)
    return found
