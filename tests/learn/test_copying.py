"""Copying must really write what was never written in training."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import regard

NAMES = [f"{one}{two}{three}" for one in "bdgklmnr" for two in "aeiou" for three in "dlnrstvz"]
FILLERS = ("please", "now", "then", "quickly", "today")
SMALL = {
    "parsing": ["model.width=64", "model.dropout=0.1"],
    "rnn_plain": ["model.width=96", "model.layers=1", "model.direction=both", "model.dropout=0.1"],
}
"""One recipe whose decoder attends to the source, and one whose decoder does not."""


def write(path: Path, count: int, asked: list[str], seed: int) -> list[tuple[str, str]]:
    """Some of three names is asked for; the others may be any."""
    draw = random.Random(seed)
    pairs = []
    for _ in range(count):
        first, last = draw.sample(NAMES, 2)
        name = draw.choice(asked)
        before, after = (draw.choices(FILLERS, k=draw.randint(0, 2)) for _ in range(2))
        source = " ".join([*before, first, "calls", name, *after, "near", last])
        pairs.append((source, f"call ( {name} )"))
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return pairs


@pytest.mark.parametrize("recipe", SMALL)
def test_names_that_no_target_has_are_copied(recipe: str, tmp_path: Path) -> None:
    names = random.Random(0).sample(NAMES, len(NAMES))
    never_asked, asked = names[:100], names[100:]
    write(tmp_path / "train.tsv", 6000, asked, seed=1)
    known, unseen = (
        write(tmp_path / "test.tsv", 200, chosen, seed=2) for chosen in (asked, never_asked)
    )

    def right(copying: str) -> list[float]:
        regard.train(
            recipe,
            regard.Parallel(pairs=tmp_path / "train.tsv"),
            run=tmp_path / copying,
            steps=500,
            settings=[
                *("tokenizer.kind=word", "batch.tokens=1024", f"model.copying={copying}"),
                *("training.optimizer.rate=4e-3", "training.optimizer.warmup=100"),
                *SMALL[recipe],
            ],
            quiet=True,
        )
        translate = regard.load(tmp_path / copying)
        return [
            sum(output == target for output, (_, target) in zip(found, pairs, strict=True)) / 200
            for pairs in (known, unseen)
            for found in [translate([source for source, _ in pairs])]
        ]

    of_known, of_unseen = right("true")
    of_known_without, of_unseen_without = right("false")
    assert of_known >= 0.97
    assert of_unseen >= 0.95
    assert of_known_without >= 0.97
    assert of_unseen_without == 0
