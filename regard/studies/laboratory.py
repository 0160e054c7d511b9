"""Where studies work: corpora that are written once, and runs that are trained once and shared."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Optional, TypeVar, Union, cast

from regard.config import override
from regard.corpora.registry import write_corpus
from regard.data.parallel import Parallel
from regard.models.base import EncoderDecoder
from regard.predict import Predictor
from regard.recipes import find_recipe
from regard.recipes.config import Budget, Config
from regard.runs.folder import Run
from regard.runs.load import load_model, load_predictor
from regard.runs.train import train

T = TypeVar("T")


@dataclass(frozen=True)
class Laboratory:
    """A folder with everything that studies make on their way, how much effort they take, and the
    seeds that they repeat a measurement with."""

    folder: Path
    quick: bool = False
    seeds: tuple[int, ...] = (1, 2, 3)
    say: Callable[[str], None] = lambda text: None

    def effort(self, full: T, quick: T) -> T:
        """A size for the real measurement, and one that only shows that it responds."""
        return quick if self.quick else full

    def corpus(self, name: str, pairs: int, seed: int = 1) -> Path:
        """The folder of a built-in corpus, written the first time it is asked for."""
        folder = self.folder / "corpora" / f"{name}-{pairs}-{seed}"
        with self._alone(folder) as finished:
            if not finished.exists():
                self.say(f"writing the corpus {name}")
                write_corpus(name, folder, pairs, seed)
                finished.touch()
        return folder

    def trained(
        self,
        recipe: Union[str, Config],
        data: Parallel,
        valid: Optional[Parallel],
        steps: int,
        seed: int = 1,
        settings: Sequence[str] = (),
    ) -> Run:
        """A finished run: trained now, resumed, or the one that an earlier study trained.

        Runs are the same if their complete configs are, however these were written. One process
        trains each, so that its numbers do not depend on the cores of the machine.
        """
        chosen = [f"training.seed={seed}", "training.processes=1", *settings]
        config = override(find_recipe(recipe), chosen).changed(budget=Budget(steps=steps))
        files = [str(each).replace(str(self.folder), "") for each in (data, valid)]
        key = json.dumps([config.model_dump(mode="json"), files])
        folder = self.folder / "runs" / hashlib.sha256(key.encode()).hexdigest()[:16]
        with self._alone(folder) as finished:
            if finished.exists():
                return Run.open(folder)
            self.say(f"training {config.model.kind}, {steps:,} steps, seed {seed}")
            run = train(config, data, run=folder, valid=valid, quiet=True)
            finished.touch()
        return run

    @contextmanager
    def _alone(self, folder: Path) -> Iterator[Path]:
        """What marks a folder as finished, while no other process works on the folder."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_suffix(".lock").open("w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield folder.with_suffix(".finished")

    def predictor(self, run: Run, beam: int = 1) -> Predictor:
        """A trained run, ready to use; greedy unless a beam is given."""
        search = run.config.search.changed(beam=beam, best=1)
        return load_predictor(run, search, say=self.say)

    def model(self, run: Run) -> EncoderDecoder:
        """The model of an autoregressive run with its best weights, in evaluation mode."""
        model, _ = load_model(run, self.say)
        return cast(EncoderDecoder, model.eval())

    @cached_property
    def scratch(self) -> Path:
        """A folder for whatever else a study writes."""
        folder = self.folder / "scratch"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def parallel(folder: Path, part: str, source: str = "source", target: str = "target") -> Parallel:
    """A part of a built-in corpus: train, valid or test."""
    return Parallel(folder / f"{part}.{source}", folder / f"{part}.{target}")
