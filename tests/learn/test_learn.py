"""Every architecture must really learn: reversing a line, from text files to translations."""

from __future__ import annotations

import random
from pathlib import Path
from typing import get_args

import pytest

import regard
import regard.predict
from regard.models import Architecture
from regard.recipes import RECIPES

LETTERS = "abcdefghijklmnop"
KINDS = [member.model_fields["kind"].default for member in get_args(get_args(Architecture)[0])]
SMALL = {
    "transformer": ["model.layers=2", "model.width=64", "model.inner=128"],
    "recurrent": ["model.width=96"],
}


def write(folder: Path, name: str, count: int, seed: int) -> tuple[list[str], list[str]]:
    """Lines of 2 to 8 letters, and the same backwards."""
    draw = random.Random(seed)
    rows = [[draw.choice(LETTERS) for _ in range(draw.randint(2, 8))] for _ in range(count)]
    sources = [" ".join(row) for row in rows]
    targets = [" ".join(reversed(row)) for row in rows]
    (folder / f"{name}.source").write_text("\n".join(sources) + "\n")
    (folder / f"{name}.target").write_text("\n".join(targets) + "\n")
    return sources, targets


def right(translate: regard.predict.Predictor, sources: list[str], targets: list[str]) -> float:
    pairs = zip(translate(sources), targets, strict=True)
    return sum(found == target for found, target in pairs) / len(targets)


@pytest.mark.parametrize("kind", KINDS)
def test_reversing_a_line_is_learned(kind: str, tmp_path: Path) -> None:
    recipe = next(name for name, make in RECIPES.items() if make().model.kind == kind)
    write(tmp_path, "train", 20_000, seed=1)
    sources, targets = write(tmp_path, "test", 500, seed=2)
    settings = ["tokenizer.kind=word", "model.dropout=0", "batch.tokens=2048", *SMALL[kind]]

    def train(run: str, steps: int) -> regard.predict.Predictor:
        regard.train(
            recipe,
            source=tmp_path / "train.source",
            target=tmp_path / "train.target",
            run=tmp_path / run,
            steps=steps,
            settings=settings,
            quiet=True,
        )
        return regard.load(tmp_path / run)

    assert right(train("untrained", 1), sources, targets) < 0.05
    assert right(train("trained", 1200), sources, targets) >= 0.99
