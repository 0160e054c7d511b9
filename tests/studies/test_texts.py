"""What the pages of studies tell the reader to run."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer

from regard.cli import app
from regard.studies import NAMES, series

VERBS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_that_a_study_names_exist(name: str) -> None:
    study = series.find_study(name)
    for text in (study.method, study.change, study.meaning):
        for verb, rest in re.findall(r"regard ([a-z]+)(.*?)(?:\. |[;`]|$)", text):
            known = {option for each in VERBS[verb].params for option in each.opts}
            assert set(re.findall(r"--[a-z][a-z0-9-]*", rest)) <= known
