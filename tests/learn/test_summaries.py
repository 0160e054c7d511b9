"""Summaries must really be found in long documents, wherever the facts are."""

from __future__ import annotations

from pathlib import Path

import regard
from regard.corpora.algorithms import write
from regard.corpora.summaries import generate


def test_summaries_of_long_documents_are_right_unless_the_end_is_missing(tmp_path: Path) -> None:
    corpus = generate(20_000, seed=2, held_out=100)
    write(corpus, tmp_path)
    sides = {
        split: regard.Parallel(tmp_path / f"{split}.source", tmp_path / f"{split}.target")
        for split in ("train", "valid")
    }
    regard.train(
        "summaries",
        sides["train"],
        valid=sides["valid"],
        run=tmp_path / "run",
        steps=600,
        settings=["training.processes=1"],
        quiet=True,
    )
    translate = regard.load(tmp_path / "run")

    def right(words: int) -> float:
        sources = [" ".join(source.split()[:words]) for source, _ in corpus["test.24"]]
        pairs = zip(translate(sources), corpus["test.24"], strict=True)
        return sum(found == target for found, (_, target) in pairs) / 100

    assert right(1000) >= 0.7
    assert right(200) < 0.2
