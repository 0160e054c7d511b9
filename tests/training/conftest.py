"""The corpus of the training tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy import write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_corpus(tmp_path_factory.mktemp("corpus"))
