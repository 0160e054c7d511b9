"""The house stays in order: short files, short functions, few arguments, a public API that the
docs describe, thin verbs and no words that say nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import regard

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "regard"
FILES = sorted(PACKAGE.rglob("*.py"))

MOST_FILE_LINES = 450
MOST_FUNCTION_LINES = 45  # DESIGN asks for about 40
MOST_VERB_LINES = 25
MOST_ARGUMENTS = 14  # those of `train`, one for each thing that a user may say

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


def body_lines(function: Function) -> int:
    """Lines of the body, without the docstring and the imports that start it."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    while body and isinstance(body[0], (ast.Import, ast.ImportFrom)):
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body and body[-1].end_lineno else 0


def name(path: Path, function: Function) -> str:
    return f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"


def test_files_are_short() -> None:
    long = [str(path) for path in FILES if len(path.read_text().splitlines()) > MOST_FILE_LINES]
    assert not long


def test_functions_are_short() -> None:
    long = [
        f"{name(path, each)} has {body_lines(each)} lines"
        for path in FILES
        for each in functions(path)
        if body_lines(each) > MOST_FUNCTION_LINES
    ]
    assert not long


def test_verbs_only_parse_call_and_print() -> None:
    long = [
        f"{name(path, each)} has {body_lines(each)} lines"
        for path in (PACKAGE / "cli").glob("*.py")
        for each in functions(path)
        if body_lines(each) > MOST_VERB_LINES
    ]
    assert not long


def test_signatures_are_short() -> None:
    """Verbs of the command line have an argument for each option; everything else is grouped."""
    wide = [
        f"{name(path, each)} takes {count} arguments"
        for path in FILES
        if "cli" not in path.parts
        for each in functions(path)
        if (count := len(each.args.args) + len(each.args.kwonlyargs)) > MOST_ARGUMENTS
    ]
    assert not wide


def test_every_public_name_has_its_section_in_the_api_page() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    described = re.findall(r"^## `(\w+)", text, flags=re.MULTILINE)
    assert sorted(described) == sorted(regard.__all__)
    assert all(getattr(regard, each) is not None for each in regard.__all__)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
