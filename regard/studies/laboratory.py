"""Where studies work: corpora that are written once, and runs that are trained once and shared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Optional, TypeVar, Union, cast

from regard.corpora.registry import write_corpus
from regard.data.parallel import Parallel
from regard.models.base import EncoderDecoder
from regard.predict import Predictor
from regard.recipes.config import Config
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
        done = folder / "complete"
        if not done.exists():
            self.say(f"writing the corpus {name}")
            write_corpus(name, folder, pairs, seed)
            done.touch()
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
        """A finished run: trained now, resumed, or the one that an earlier study trained."""
        given = recipe if isinstance(recipe, str) else recipe.model_dump(mode="json")
        files = [str(each).replace(str(self.folder), "") for each in (data, valid)]
        key = json.dumps([given, files, steps, seed, list(settings)])
        folder = self.folder / "runs" / hashlib.sha256(key.encode()).hexdigest()[:16]
        kind = recipe if isinstance(recipe, str) else recipe.model.kind
        self.say(f"training {kind}, {steps:,} steps, seed {seed}")
        chosen = [f"training.seed={seed}", *settings]
        if self.quick:
            chosen.insert(0, "training.processes=1")
        (self.folder / "runs").mkdir(parents=True, exist_ok=True)
        return train(
            recipe, data, run=folder, valid=valid, steps=steps, settings=chosen, quiet=True
        )

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
