"""Preparing a run reads its raw files once, and later passes read what was checked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from toy import train_small, write_corpus

from regard.data import reading, reread

Corpus = dict[str, Path]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each raw file was opened."""
    counts: Counter[str] = Counter()
    really = reading.open_raw

    def counting(path: Path) -> Any:
        counts[path.name] += 1
        return really(path)

    monkeypatch.setattr(reading, "open_raw", counting)
    return counts


def files(folder: Path) -> dict[str, bytes]:
    """The tokenizers and the encoded pairs of a run."""
    paths = [*folder.glob("*tokenizer.json"), *folder.glob("data/*/*")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("joint", [True, False])
def test_raw_files_are_read_once_whether_they_fit_in_memory_or_not(
    tmp_path: Path,
    opened: Counter[str],
    monkeypatch: pytest.MonkeyPatch,
    held_out: bool,
    joint: bool,
) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    if held_out:
        corpus = {name: corpus[name] for name in ("source", "target")}
    apart = () if joint else ("tokenizer.joint=false", "model.tying=target")
    train_small(tmp_path / "small", corpus, *apart, steps=1)
    assert set(opened.values()) == {1}
    opened.clear()
    monkeypatch.setattr(reread, "MAX_MEMORY", 1)
    train_small(tmp_path / "large", corpus, *apart, steps=1)
    assert set(opened.values()) == {1}
    assert files(tmp_path / "small") == files(tmp_path / "large")
    opened.clear()
    given = tmp_path / "small"
    train_small(tmp_path / "given", corpus, *apart, steps=1, tokenizer=given)
    assert set(opened.values()) == {1}
    assert files(tmp_path / "given") == files(tmp_path / "small")
