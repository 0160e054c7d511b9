"""Reading pictures must really be learned, and by looking at them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import regard
from regard.corpora import drawn_words

LETTERS = "AEHLOTX"


def write(folder: Path, name: str, count: int, seed: int) -> regard.Parallel:
    """Drawn words of one to three of a few letters."""
    generator = np.random.Generator(np.random.PCG64(seed))
    words = [
        "".join(generator.choice(list(LETTERS), int(generator.integers(1, 4))))
        for _ in range(count)
    ]
    drawn = [drawn_words.draw_word(generator, word) for word in words]
    (folder / f"{name}.source").write_text("".join(f"{each.source}\n" for each in drawn))
    (folder / f"{name}.target").write_text("".join(f"{word}\n" for word in words))
    return regard.Parallel(folder / f"{name}.source", folder / f"{name}.target")


def test_drawn_words_are_read_with_attention_and_hardly_without(tmp_path: Path) -> None:
    train = write(tmp_path, "train", 4000, seed=1)
    test = write(tmp_path, "test", 300, seed=2)

    def exact(attention: str) -> float:
        settings = ["model.width=64", "model.dropout=0", f"model.attention={attention}"]
        regard.train(
            "spatial", train, run=tmp_path / attention, steps=700, settings=settings, quiet=True
        )
        return regard.evaluate(tmp_path / attention, test)["exact"]

    with_attention, without = exact("before"), exact("none")
    assert with_attention >= 90
    assert without <= with_attention - 20
