"""The quick form of every study runs, measures something for each of its checks, and draws it."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.studies import NAMES, series
from regard.studies.laboratory import Laboratory


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One laboratory for all, so that what several studies train is trained once."""
    return tmp_path_factory.mktemp("laboratory")


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_form(name: str, folder: Path) -> None:
    found = series.find_study(name).measure(Laboratory(folder, quick=True, seeds=(1,)))
    assert found.numbers
    assert found.checks
    assert all(check.expected and check.measured for check in found.checks)
    assert found.headline.endswith(".")
    assert found.figure.axes
