"""Which target pieces go with a source piece."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from regard.data import lexicon
from regard.data.lexicon import likely_targets
from regard.data.line import Line, Pair
from regard.data.store import Store
from regard.data.tokenizer import Words
from regard.data.tokenizers import Tokenizers

LETTERS = [chr(ord("a") + number) for number in range(20)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Each letter becomes its capital, in another order, and every target has a filler."""
    draw = random.Random(3)
    pairs = []
    for number in range(400):
        line = draw.sample(LETTERS, draw.randint(2, 6))
        target = [letter.upper() for letter in sorted(line)]
        pairs.append(Pair(number, Line(" ".join(line)), Line(" ".join(["und", *target]))))
    sides = Tokenizers(Words(LETTERS), Words(["und", *(letter.upper() for letter in LETTERS)]))
    return Store.write(tmp_path / "store", pairs, sides, 100)


def test_the_likeliest_target_is_the_translation(store: Store) -> None:
    likely = likely_targets(store, 30, 5)
    assert likely.shape == (30, 5)
    for number in range(len(LETTERS)):
        assert likely[4 + number, 0] == 5 + number
        assert len(set(likely[4 + number].tolist())) == 5
    assert not likely[:4].any()  # ids that never occur
    assert not likely[24:].any()


def test_a_part_of_a_large_corpus_is_enough(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = likely_targets(store, 24, 1)
    monkeypatch.setattr(lexicon, "MAX_COOCCURRENCES", 3000)
    assert np.mean(likely_targets(store, 24, 1) == whole) > 0.8
