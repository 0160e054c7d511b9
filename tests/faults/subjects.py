"""What most campaigns disturb: the miniature of an architecture on a very small corpus."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miniatures import MEMBERS, Corpus, files_for, settings_for
from toy import parallel, write_corpus, write_lines

import regard
from faults.children import in_child
from faults.points import FileChanges, counted_calls
from regard.recipes import RECIPES
from regard.recipes.config import Config
from regard.runs import train as training
from regard.training import checkpoint

SAVE_EVERY = 2
IN_TURN = sorted(MEMBERS, key=lambda member: int(member[0].split("-")[1]))
"""Every family once, then again with its other miniatures."""


def small_corpus(folder: Path, pairs: int = 60) -> Corpus:
    corpus = write_corpus(folder / "corpus", pairs)
    for side in ("valid_source", "valid_target"):
        write_lines(corpus[side], corpus[side].read_text().splitlines()[:4])
    return corpus


def without_drawing() -> None:
    """The figure of the curves is drawn when all is saved, and takes longer than the training."""
    training.save_curves = lambda *given: None


@dataclass(frozen=True)
class Miniature:
    """A small complete config of an architecture, and its files."""

    name: str
    config: Config
    files: Corpus

    @staticmethod
    def of(name: str, model: Any, average: str, corpus: Corpus, folder: Path) -> Miniature:
        config = settings_for(model, average)
        every = {"save_every": SAVE_EVERY, "accumulate": 1, "log_every": 1}
        config = config.changed(training=config.training.changed(**every))
        (folder / name).mkdir(parents=True)
        files = files_for(config, corpus, folder / name)
        return Miniature(name, config, files)

    def train(self, run: Path, steps: int) -> None:
        regard.train(self.config, run=run, steps=steps, quiet=True, **parallel(self.files))

    @contextmanager
    def as_recipe(self) -> Iterator[None]:
        """Commands know its config as a recipe by its name."""
        RECIPES[self.name] = lambda: self.config
        try:
            yield
        finally:
            del RECIPES[self.name]

    def command(self, run: Path, steps: int) -> list[str]:
        """What `train` does, as arguments of the command line."""
        RECIPES[self.name] = lambda: self.config
        files = [f"--{name.replace('_', '-')}={path}" for name, path in self.files.items()]
        return ["train", self.name, f"--run={run}", f"--steps={steps}", "--quiet", *files]


@dataclass(frozen=True)
class Measured:
    """The changes of files in an undisturbed run, each with whether it is part of a save; how many
    Python functions are called, and how long it takes."""

    changes: list[tuple[str, bool]]
    calls: int
    seconds: float


def measured(subject: Miniature, run: Path, steps: int) -> Measured:
    """Train undisturbed, in a forked process."""
    noted = run.with_suffix(".json")

    def measure() -> None:
        began, changes = time.perf_counter(), list[tuple[str, bool]]()
        FileChanges(run, lambda number, what, saving: changes.append((what, saving))).install()
        calls = counted_calls(lambda: subject.train(run, steps))
        noted.write_text(json.dumps([list(changes), calls, time.perf_counter() - began]))

    ended = in_child(measure)
    assert ended.code == 0, ended.said
    changes, calls, seconds = json.loads(noted.read_text())
    return Measured([(what, saving) for what, saving in changes], calls, seconds)


def assert_intact(run: Path) -> None:
    """The newest checkpoint can be read, or there never was one."""
    said = list[str]()
    checkpoint.Checkpoints(run / "checkpoints", say=said.append).latest()
    assert not said, said
