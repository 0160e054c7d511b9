"""What is held does not grow with the corpus, and large sets lose nothing."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from regard import Parallel
from regard.diagnosis import association, blocks, duplicates
from regard.diagnosis.doctor import doctor
from regard.diagnosis.duplicates import Seen, Similar

WORDS = [f"{first}{middle}{last}" for first in "bdfgk" for middle in "aeiou" for last in "lmnrst"]


def test_a_set_larger_than_memory_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MAX_HELD", 500)
    numbers = np.random.default_rng(1).integers(0, 3000, 8000).astype(np.uint64)
    seen, known = Seen(), set[int]()
    for start in range(0, len(numbers), 130):
        part = numbers[start : start + 130]
        expected = [value in known or known.add(value) is not None for value in part.tolist()]
        assert seen.add(part).tolist() == expected
    assert len(seen._files) > 2


def test_similar_pairs_are_found_and_others_are_not() -> None:
    chooser = random.Random(1)
    texts = [" ".join(chooser.choices(WORDS, k=60)) for _ in range(3000)]
    similar = Similar()
    assert not similar.add(texts).any()
    changed = [f"{text[:40]}x{text[41:]}" for text in texts]
    assert similar.add(changed).mean() > 0.98
    assert not similar.add([text[::-1] for text in texts]).any()


def peak(folder: Path, pairs: int) -> int:
    """Bytes that examining so many pairs takes at most."""
    chooser = random.Random(2)
    path = folder / f"{pairs}.tsv"
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(pairs):
            words = chooser.choices(WORDS, k=12)
            stream.write(f"{' '.join(words)}\t{' '.join(word.upper() for word in words)}\n")
    tracemalloc.start()
    report = doctor(Parallel(pairs=path))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.pairs == pairs
    return most


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "PAIRS", 100)
    monkeypatch.setattr(blocks, "SAMPLE_PAIRS", 300)
    monkeypatch.setattr(duplicates, "REMEMBERED", 2**10)
    monkeypatch.setattr(duplicates, "MAX_HELD", 200)
    monkeypatch.setattr(association, "_TABLE", 2**12)
    peak(tmp_path, 200)  # what is loaded once
    assert peak(tmp_path, 4000) < 1.2 * peak(tmp_path, 1000)


def test_a_block_ends_with_the_pair_that_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "CHARACTERS", 1000)
    path = tmp_path / "long.tsv"
    path.write_text(("x" * 400 + "\tb\n") * 10, encoding="utf-8")
    sizes = [len(block) for block in blocks.Blocks(Parallel(pairs=path).open())]
    assert sizes == [3, 3, 3, 1]
