"""A run that reverses its words, and servers for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from clients import Client, Serve, serving
from toy import ABLE, write_corpus

import regard
from regard.data.parallel import Parallel


@pytest.fixture(scope="session")
def toy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English animals to German ones: the words reversed, in capitals."""
    folder = tmp_path_factory.mktemp("serving")
    corpus = write_corpus(folder, pairs=400)
    languages = ("en", "de")
    regard.train(
        "lstm_attention",
        Parallel(corpus["source"], corpus["target"], languages=languages),
        run=folder / "run",
        valid=Parallel(corpus["valid_source"], corpus["valid_target"]),
        steps=120,
        settings=ABLE,
        quiet=True,
    )
    return folder / "run"


@pytest.fixture
def serve(toy_run: Path) -> Iterator[Serve]:
    """Starts a server with some limits."""
    with ExitStack() as stack:
        yield lambda *runs, **options: stack.enter_context(
            serving(list(runs) or [str(toy_run)], **options)
        )


@pytest.fixture(scope="session")
def client(toy_run: Path) -> Iterator[Client]:
    """One server with ordinary limits, for tests that do not need their own."""
    with serving([str(toy_run)]) as found:
        yield found
