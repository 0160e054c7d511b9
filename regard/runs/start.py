"""Starting a run with the weights and tokenizers of another, or with a part of its model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import torch

from regard.config import leaves, override
from regard.data.parallel import PathLike
from regard.data.tokenizer import SAMPLED
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.models.weights import collect
from regard.recipes import find_recipe
from regard.recipes.config import Config
from regard.runs.first import save_first
from regard.runs.folder import Run
from regard.runs.load import load_model

RATE_FRACTION = 0.1
"""Of the recipe's learning rate, for a model that has been trained before."""

_RATE, _DROPOUT = "training.optimizer.rate", "training.dropout_start"
_SAMPLING = "tokenizer.sampling"


@dataclass(frozen=True)
class Start:
    """The run that a new one starts from; `part` limits it to weights whose names begin so."""

    path: Path
    part: str = ""

    @staticmethod
    def of(text: Optional[PathLike]) -> Optional[Start]:
        """RUN or RUN:part."""
        if text is None:
            return None
        before, colon, part = str(text).rpartition(":")
        if not colon or Run.exists(Path(text)):
            return Start(Path(text))
        if not part:
            raise UsageError(f"'{text}' names no part: write {before} or {before}:encoder.")
        return Start(Path(before), part)

    def __str__(self) -> str:
        return f"{self.path}:{self.part}" if self.part else str(self.path)

    def config(self, recipe: Optional[str], settings: Sequence[str], run: Path) -> Config:
        """The complete config of the new run, apart from its budget.

        Without a recipe it is the other run's. An existing run is compared with itself, since the
        run it started from may be gone.
        """
        existing = Run.exists(run)
        other = Run.open(run if existing else self.path).config
        set_by_user = {setting.partition("=")[0].strip() for setting in settings}
        for name in sorted(set_by_user):
            if name.startswith("tokenizer.") and name != _SAMPLING:
                raise UsageError(f"{name} has no effect with --from, which copies the tokenizer.")
        if recipe is None:
            config = other if existing else self._gentle(other, set_by_user)
            return override(config, settings)
        config = find_recipe(recipe)
        samples = other.tokenizer.kind in SAMPLED
        sampling = config.tokenizer.sampling if samples else 0.0
        tokenizer = other.tokenizer.changed(sampling=sampling)
        return override(self._gentle(config.changed(tokenizer=tokenizer), set_by_user), settings)

    def _gentle(self, config: Config, set_by_user: set[str]) -> Config:
        """Settings that do not undo what was learned. With a part, most of the model is new."""
        if self.part:
            return config
        rate = float(f"{config.training.optimizer.rate * RATE_FRACTION:.4g}")
        defaults = {_RATE: rate, _DROPOUT: 1.0}
        assignments = [f"{k}={v}" for k, v in defaults.items() if k not in set_by_user]
        return override(config, assignments)

    def check(self, config: Config) -> None:
        """Refuse a config whose model these weights do not fit; nothing is loaded for it."""
        other = Run.open(self.path)
        if not other.checkpoints().steps():
            raise UsageError(f"{self.path} has no checkpoint yet: train it first.")
        sides = other.tokenizers()
        offered = self._chosen(_shapes(other.config, sides))
        if not offered:
            parts = sorted({name.split(".")[0] for name in _shapes(other.config, sides)})
            raise UsageError(
                f"The model of {self.path} has no part '{self.part}': choose {' or '.join(parts)}."
            )
        if _misfits(offered, self._chosen(_shapes(config, sides))):
            paths = self._misfitting_settings(other.config, config, sides, offered)
            raise UsageError(
                f"The weights of {self} do not fit this model: {paths} must be as in that run."
            )

    def _misfitting_settings(
        self, old: Config, new: Config, sides: Tokenizers, offered: Mapping[str, torch.Size]
    ) -> str:
        """The settings of the model that make a difference to the shapes, by their dotted paths."""
        before = dict(leaves(old.model.model_dump(mode="json"), "model."))
        after = dict(leaves(new.model.model_dump(mode="json"), "model."))
        if not self.part and before["model.kind"] != after["model.kind"]:
            return "model.kind"
        differing = [name for name in before if name in after and before[name] != after[name]]
        count = _misfits(offered, self._chosen(_shapes(new, sides)))
        guilty = []
        for name in differing:
            try:
                tried = override(new, [f"{name}={json.dumps(before[name])}"])
            except UsageError:  # together with another setting only
                continue
            if _misfits(offered, self._chosen(_shapes(tried, sides))) < count:
                guilty.append(name)
        return " and ".join(guilty or differing or ["model.kind"])

    def _chosen(self, named: Mapping[str, Any]) -> dict[str, Any]:
        prefix = f"{self.part}." if self.part else ""
        return {name: each for name, each in named.items() if name.startswith(prefix)}

    def copy_to(self, run: Run, say: Callable[[str], None]) -> dict[str, Any]:
        """Copy tokenizers and weights into a new run; what data.json records of it."""
        other = Run.open(self.path)
        model, checkpoint = load_model(other)
        digest = save_first(run, self._chosen(collect(model)))
        other.tokenizers().save(run.path)
        training = run.config.training
        gentle = f"; learning rate {training.optimizer.rate:g}, full dropout from the beginning"
        say(f"Starting from {self}, step {checkpoint.step:,}{'' if self.part else gentle}.")
        whole = {} if self.part else {"whole": True}
        return {"from": str(self), "step": checkpoint.step, "sha256": digest, **whole}


def check_same_start(run: Run, start: Optional[Start]) -> None:
    """Refuse to resume a run with another --from than it was started with."""
    known = run.facts("data")
    recorded = known.get("start")
    if known and recorded is None and start is not None:
        raise UsageError(f"{run.path} was started without --from: leave it out to resume the run.")
    before = None if recorded is None else Start.of(str(recorded["from"]))
    if before is None:
        return
    if start is None or (start.path.resolve(), start.part) != (before.path.resolve(), before.part):
        raise UsageError(f"{run.path} was started with --from {before}: give the same to resume.")


def _shapes(config: Config, sides: Tokenizers) -> dict[str, torch.Size]:
    with torch.device("meta"):
        model = config.model.build(sides.source.size, sides.target.size)
    return {name: tensor.shape for name, tensor in collect(model).items()}


def _misfits(offered: Mapping[str, torch.Size], wanted: Mapping[str, torch.Size]) -> int:
    """How many tensors are only in one of two models, or differ in shape."""
    names = offered.keys() | wanted.keys()
    return sum(offered.get(name) != wanted.get(name) for name in names)
