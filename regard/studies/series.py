"""Studies by name: one for a notebook, or a series of them that fills a folder and resumes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Optional, Union

import torch

from regard.data.parallel import PathLike
from regard.errors import Interrupted, RegardError, UsageError
from regard.messages import unknown
from regard.processes.cores import cores
from regard.processes.devices import chosen_device, on_cpu
from regard.processes.pool import worker_map
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
    if output is not None:
        return run_studies([name], Path(output), quick, tuple(seeds), print)[name].finding
    with tempfile.TemporaryDirectory(prefix="regard-study-") as folder:
        return Series(Path(folder), quick, tuple(seeds), print).measured(name).finding


def run_studies(
    names: Sequence[str], folder: Path, quick: bool, seeds: tuple[int, ...], say: Say
) -> dict[str, Result]:
    """Run studies into a folder of pages; finished ones are not repeated.

    Those that compare times run one after the other, the rest on all cores. If one of several
    fails, the others are run all the same.
    """
    series = Series(folder, quick, seeds, say)
    chosen = {name: find_study(name) for name in names}
    folder.mkdir(parents=True, exist_ok=True)
    found, failed = {}, []
    for name, result in _results(series, chosen):
        if isinstance(result, Failure):
            failed.append(f"{name} ({result.reason})")
            continue
        found[name] = result
        write_page(folder, name, chosen[name], result)
        write_index(folder, series.stored(), len(NAMES))
    if failed:
        count = f"{len(failed)} of {len(chosen)} studies failed; the others are measured"
        raise RegardError(f"{count}. {'; '.join(failed)}")
    return {name: found[name] for name in chosen}


def _results(
    series: Series, chosen: dict[str, Study]
) -> Iterator[tuple[str, Union[Result, Failure]]]:
    if len(chosen) == 1:
        yield from ((name, series.measured(name)) for name in chosen)
        return
    timed = [name for name, each in chosen.items() if each.timed]
    others = [name for name in chosen if name not in timed]
    workers = min(cores(), len(others)) if on_cpu(chosen_device()) else 1
    if workers > 1:
        with worker_map(series.attempted, workers) as on_workers:
            yield from zip(others, on_workers(others), strict=True)
    for name in timed if workers > 1 else chosen:
        yield name, series.attempted(name)


@dataclass(frozen=True)
class Failure:
    """Why a study could not be measured."""

    reason: str


@contextmanager
def _one_thread() -> Iterator[None]:
    """What is measured does not depend on the number of cores; small models gain nothing by two."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class Series:
    """Where studies are run, and how."""

    folder: Path
    quick: bool
    seeds: tuple[int, ...]
    say: Say

    def laboratory(self, name: str) -> Laboratory:
        """The one of a study, which shares its folder with all others."""
        folder = self.folder / "laboratory"
        return Laboratory(folder, self.quick, self.seeds, lambda text: self.say(f"{name}: {text}"))

    def measured(self, name: str) -> Result:
        """The stored result, or that of measuring now."""
        laboratory, each = self.laboratory(name), find_study(name)
        stored = self._stored(name)
        if stored is not None:
            laboratory.say(f"measured before, on {stored.day}")
            return stored
        laboratory.say(each.claim)
        began, busy = time.perf_counter(), time.process_time()
        with _one_thread():
            finding = each.measure(laboratory)
        seconds, processor = time.perf_counter() - began, time.process_time() - busy
        result = result_of(finding, seconds, processor, self._facts(name))
        save_result(self.folder / f"{name}.json", result)
        return result

    def attempted(self, name: str) -> Union[Result, Failure]:
        """The result, or why there is none: a mistake in one study must not cost the others."""
        try:
            return self.measured(name)
        except Interrupted:
            raise
        except Exception as error:
            return Failure(f"{type(error).__name__}: {error}")

    def stored(self) -> dict[str, tuple[Study, Result]]:
        """What is in the folder, in the order of the list."""
        found = {name: self._stored(name) for name in NAMES}
        return {name: (find_study(name), each) for name, each in found.items() if each is not None}

    def _stored(self, name: str) -> Optional[Result]:
        return read_result(self.folder / f"{name}.json", self._facts(name))

    def _facts(self, name: str) -> dict[str, object]:
        return facts_of(Path(__file__).with_name(f"{name}.py"), self.quick, self.seeds)
