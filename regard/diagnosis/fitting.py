"""Which recipe fits a corpus, by docs/choosing.md, and what training one on it would take."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from regard.data.parallel import Parallel
from regard.diagnosis.blocks import Block
from regard.diagnosis.report import Forecast
from regard.diagnosis.rules import Rules
from regard.files import write_text
from regard.planning.plan import plan
from regard.recipes.config import Config

SAMPLE = 10_000
"""Pairs that the forecast is made from."""

_BY_SIZE = (
    (100_000, "multi30k"),
    (200_000, "tiny"),
    (1_000_000, "small"),
)
_LARGEST = "base"


def fitting_recipe(pairs: int, rules: Optional[Rules]) -> str:
    """The name of a recipe to begin with: that of the form of the lines, or one that translates."""
    if rules is not None and rules.form.recipe is not None:
        return rules.form.recipe
    return next((name for size, name in _BY_SIZE if pairs < size), _LARGEST)


def forecast(config: Config, sample: Sequence[Block], pairs: int) -> Optional[Forecast]:
    """What `regard plan` says of an epoch of so many pairs like those of the sample; nothing for a
    recipe that reads more than their text."""
    if any(kind.option for kind in config.annotations):
        return None
    with tempfile.TemporaryDirectory(prefix="regard-") as name:
        data = _write(Path(name), sample, config.reads_source)
        estimate = plan(config, data, pairs=pairs, epochs=1)
    return Forecast(
        model=estimate.model,
        parameters=estimate.parameters,
        tokens=round(estimate.tokens_per_pair * pairs),
        steps=estimate.steps,
        seconds=3600 * estimate.hours,
        memory=round(estimate.needed),
        fits=estimate.fits,
    )


def _write(folder: Path, sample: Sequence[Block], has_source: bool) -> Parallel:
    """Files of the first usable pairs."""
    pairs = [each.pair for block in sample for each in block.entries if each.pair is not None]
    sides = ("source", "target") if has_source else ("target",)
    for side in sides:
        lines = (getattr(pair, side).text.replace("\n", " ") for pair in pairs[:SAMPLE])
        write_text(folder / side, "".join(f"{line}\n" for line in lines))
    return Parallel(folder / "source" if has_source else None, folder / "target")
