"""The notebook runs from top to bottom, and its committed outputs are those of the code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from fences import DOCS
from nbclient import NotebookClient
from test_commands import without_numbers

MOST_BYTES = 100_000


def printed(notebook: Any) -> list[dict[str, str]]:
    """What each cell printed to each stream, without its numbers.

    A stream may arrive in several pieces, depending on how fast it was written.
    """
    return [
        {
            name: without_numbers("".join(each.text for each in pieces))
            for name, pieces in streams(cell).items()
        }
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def streams(cell: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for each in cell.outputs:
        if each.output_type == "stream":
            found.setdefault(each.name, []).append(each)
    return found


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMPDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    path = DOCS / "tutorial.ipynb"
    assert path.stat().st_size < MOST_BYTES
    notebook = nbformat.read(path, as_version=4)
    committed = printed(notebook)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}})
    client.execute()
    found = printed(notebook)
    assert [each.keys() for each in found] == [each.keys() for each in committed]
    learned = ("translating", "looking")  # translations differ in their words, by machine
    ids = [cell.id for cell in notebook.cells if cell.cell_type == "code"]
    for name, now, before in zip(ids, found, committed, strict=True):
        assert name in learned or now == before
