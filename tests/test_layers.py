"""Imports go down only, so that a part can be understood without what is above it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent / "regard"

LAYERS = (
    ("__main__", "cli"),
    (
        *("peer", "demo", "ladders", "studies", "serving", "inspection"),
        *("interop", "diagnosis", "planning"),
    ),
    ("runs", "judge", "predict"),
    ("settings", "recipes", "training", "models"),
    ("search", "nn"),
    ("processes", "data", "metrics", "drawing", "corpora"),
    ("terminal", "files", "config", "messages", "errors", ""),
)
"""From the top down; within a layer a part may import those to its right."""

ORDER = [name for names in LAYERS for name in names]
HEIGHT = {name: -number for number, name in enumerate(ORDER)}


def imported(path: Path) -> set[str]:
    """The parts of regard that a file imports, wherever in the file it does so."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
            if node.module == "regard":
                modules = [f"regard.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        names |= {m.split(".")[1] for m in modules if m.startswith("regard.")}
    return names


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_every_part_has_a_layer() -> None:
    parts = {part_of(path) for path in ROOT.rglob("*.py")} - {"__init__"}
    assert parts <= HEIGHT.keys(), "a new part needs its place in LAYERS"


def test_imports_go_down_only() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports regard.{name}"
        for path in ROOT.rglob("*.py")
        if part_of(path) != "__init__"
        for name in imported(path)
        if name in HEIGHT and name != part_of(path) and HEIGHT[name] >= HEIGHT[part_of(path)]
    ]
    assert not wrong


def test_the_picture_in_the_docs_shows_these_layers() -> None:
    text = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = text.split("## Layers", 1)[1].split("```")[1]
    rows = [line.strip() for line in picture.splitlines() if line.strip() not in ("", "|")]
    shown = [tuple(re.split(r"\s{2,}", row)[0].split(", ")) for row in rows]
    unseen = {"__main__", ""}
    assert shown == [tuple(n for n in names if n not in unseen) for names in LAYERS]


def test_no_part_is_called_by_a_word_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "core", "misc"}
    assert not {path.stem for path in ROOT.rglob("*.py")} & empty
