"""Runs to look into."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy import ABLE, SMALL, parallel, turned, write_corpus, write_lines

import regard
from regard.corpora import grammar


@pytest.fixture(scope="session")
def able(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the toy's files, their gold alignments, and a run that learned them."""
    folder = tmp_path_factory.mktemp("inspection")
    corpus = write_corpus(folder, pairs=400)
    for part in ("valid", "test"):
        lines = (folder / f"{part}.source").read_text().splitlines()
        lengths = [len(line.split()) for line in lines]
        links = (" ".join(f"{i}-{n - 1 - i}" for i in range(n)) for n in lengths)
        write_lines(folder / f"{part}.align", links)
        assert [turned(line) for line in lines] == (
            folder / f"{part}.target"
        ).read_text().splitlines()
    regard.train(
        "lstm_attention",
        run=folder / "run",
        steps=120,
        settings=ABLE,
        quiet=True,
        **parallel(corpus),
    )
    return folder


@pytest.fixture(scope="session")
def transformer(able: Path) -> Path:
    """A Transformer that trained for a few steps, with two validations."""
    corpus = {
        name: able / file
        for name, file in (
            ("source", "train.source"),
            ("target", "train.target"),
            ("valid_source", "valid.source"),
            ("valid_target", "valid.target"),
        )
    }
    settings = [*SMALL, "model.layers=2", "training.validate_every=4"]
    regard.train(
        "tiny", run=able / "transformer", steps=8, settings=settings, quiet=True, **parallel(corpus)
    )
    return able / "transformer"


@pytest.fixture(scope="session")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small corpus of the grammar, its trees, and a run that read them."""
    folder = tmp_path_factory.mktemp("trees")
    grammar.write(grammar.generate(200, held_out=20), folder)
    files = {
        f"{option}{name}": folder / f"{part}.{suffix}"
        for option, part in (("", "train"), ("valid_", "valid"))
        for name, suffix in (("source", "en"), ("target", "de"), ("trees", "trees"))
    }
    settings = [
        *SMALL,
        "tokenizer.kind=bpe",
        "tokenizer.vocabulary=500",
        "batch.tokens=512",
        "model.layers=2",
        "model.position=syntax",
        "training.optimizer.rate=0.01",
        "training.validate_every=10",
    ]
    regard.train(
        "tiny", run=folder / "run", steps=20, settings=settings, quiet=True, **parallel(files)
    )
    return folder
