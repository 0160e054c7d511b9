"""The quick form of every study runs, measures something for each of its checks, and draws it."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.studies import NAMES, series
from regard.studies.laboratory import Laboratory
from regard.studies.results import read_result, result_of, save_result


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_form(name: str, laboratory: Laboratory, tmp_path: Path) -> None:
    found = series.find_study(name).measure(laboratory)
    assert found.numbers
    assert found.checks
    assert all(check.expected and check.measured for check in found.checks)
    assert found.headline.endswith(".")
    assert found.figure.axes
    save_result(tmp_path / "found.json", result_of(found, 1.0, 1.0, {}))
    stored = read_result(tmp_path / "found.json", {})
    assert stored is not None
    assert (stored.finding.numbers, stored.finding.checks) == (found.numbers, found.checks)
