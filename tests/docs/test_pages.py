"""The pages of the command line describe it: every verb, and no option that does not exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from fences import DOCS, ROOT, VERB_PAGES, commands, prose

from regard.cli import app
from regard.config import override
from regard.corpora.registry import CORPORA
from regard.recipes import find_recipe

VERBS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])


def options(verb: str) -> set[str]:
    return {name for each in VERBS[verb].params for name in (*each.opts, *each.secondary_opts)}


def commands_of_regard(page: Path) -> list[list[str]]:
    texts = [command.text.rpartition("|")[2] for command in commands(page) if not command.fails]
    words = [shlex.split(text.replace(".venv/bin/", ""), comments=True) for text in texts]
    return [each[1:] for each in words if each[0] == "regard"]


def test_every_verb_has_a_page_and_a_line_in_the_readme() -> None:
    assert {page.stem for page in VERB_PAGES} == set(VERBS)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"docs/verbs/{verb}.md" in readme for verb in VERBS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_can_be_parsed(page: Path) -> None:
    """Verbs, options and the types of their values; the files need not exist."""
    for verb, *arguments in commands_of_regard(page):
        VERBS[verb].make_context(verb, arguments)
    if page in VERB_PAGES:
        assert page.stem in {words[0] for words in commands_of_regard(page)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_recipe_setting_and_corpus_exists(page: Path) -> None:
    for verb, *arguments in commands_of_regard(page):
        given = VERBS[verb].make_context(verb, arguments).params
        if verb == "corpus":
            assert given["name"] in CORPORA
        elif verb == "train" and given["recipe"]:
            override(find_recipe(given["recipe"]), given["settings"] or ())


@pytest.mark.parametrize("page", VERB_PAGES, ids=lambda page: page.stem)
def test_every_option_named_on_the_page_of_a_verb_exists(page: Path) -> None:
    everywhere = set().union(*map(options, VERBS))
    for span in re.findall(r"`([^`]+)`", prose(page)):
        known = options(span.split()[1]) if span.startswith("regard ") else everywhere
        assert set(re.findall(r"(?<!\S)--[a-z][a-z0-9-]*", span)) <= known, span
    for row in re.findall(r"^\| (`--.*?) \|", prose(page), flags=re.MULTILINE):
        assert set(re.findall(r"--[a-z][a-z0-9-]*", row)) <= options(page.stem), row


@pytest.mark.parametrize("page", VERB_PAGES, ids=lambda page: page.stem)
def test_the_page_of_a_verb_names_all_of_its_options(page: Path) -> None:
    named = set(re.findall(r"--[a-z][a-z0-9-]*", page.read_text(encoding="utf-8")))
    assert {each for each in options(page.stem) if each.startswith("--")} <= named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith(("http:", "https:")):
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_of_a_table_has_as_many_cells_as_its_header(page: Path) -> None:
    """A bar ends a cell, even in a code span, unless it is escaped."""
    expected = None
    for line in prose(page).splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        expected = cells if expected is None or cells is None else expected
        assert cells == expected, line


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to headings."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}
