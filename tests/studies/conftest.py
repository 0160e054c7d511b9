"""What tests of studies share."""

from __future__ import annotations

import pytest

from regard.studies.laboratory import Laboratory


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """One for all quick forms, so that what several studies train is trained once."""
    return Laboratory(tmp_path_factory.mktemp("laboratory"), quick=True, seeds=(1,))
