"""Small trained Transformers that several tests export."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import Trained
from toy import train_small, write_corpus

from regard.runs.folder import Run

LEARNS = (
    "tokenizer.kind=bpe",
    "tokenizer.vocabulary=400",
    "batch.tokens=1024",
    "model.width=64",
    "model.inner=128",
    "model.dropout=0",
    "training.optimizer.rate=0.003",
)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A run by its further settings, trained once."""
    folder = tmp_path_factory.mktemp("exchange")
    corpus, runs = write_corpus(folder, pairs=2000), dict[tuple[str, ...], Run]()

    def train(*settings: str) -> Run:
        if settings not in runs:
            path = folder / f"run-{len(runs)}"
            runs[settings] = train_small(path, corpus, *LEARNS, *settings, steps=300)
        return runs[settings]

    return train


@pytest.fixture
def begun(tmp_path: Path) -> Trained:
    """A run that has learned nothing yet, for what depends on settings alone."""

    def train(*settings: str) -> Run:
        corpus = write_corpus(tmp_path / "corpus")
        return train_small(tmp_path / "run", corpus, "tokenizer.kind=bpe", *settings, steps=1)

    return train


@pytest.fixture
def post(trained: Trained) -> Run:
    return trained("model.norm=post")


@pytest.fixture
def test_lines(post: Run) -> list[str]:
    return Path(post.path.parent / "test.source").read_text().splitlines()
