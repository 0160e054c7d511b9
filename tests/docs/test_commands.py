"""Every command of README.md and the tutorial runs, and prints what the tutorial says it prints.

Commands that train for minutes run with a smaller budget; SMALLER says how. `make` commands are
left out, because CI runs them itself.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from fences import DOCS, ROOT, Command, blocks, commands

from regard.cli import main
from regard.corpora import grammar

README, TUTORIAL = ROOT / "README.md", DOCS / "tutorial.md"

SMALLER = (
    (r"--minutes \S+", "--steps 3"),
    (r"--steps \d+", "--steps 3"),
    (r"\bminutes=\d+", "steps=3"),
    (r"\bport=\d+", "port=0"),
    (r"corpus grammar --pairs \d+", "corpus grammar --pairs 1000"),
    (r"\.venv/bin/", ""),
)
"""What is run instead of what the pages say: a few steps on fewer pairs."""

TEST_LINES = 12
"""Lines that are kept of a test set: barely trained models write long translations."""

WRITES_TEXT = ("translate", "look")
"""Verbs whose output depends on what a model has learned, so that it cannot be compared."""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def smaller(text: str) -> str:
    for pattern, replacement in SMALLER:
        text = re.sub(pattern, replacement, text)
    return text


def without_numbers(text: str) -> str:
    """A line of which only the words can be compared."""
    return " ".join(re.sub(r"\d[\d.,]*", "#", text).split())


def is_regard(text: str) -> bool:
    return shlex.split(text)[0] == "regard"


def run(text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """Run regard in this process, since importing torch takes seconds, and the rest in bash."""
    feeding, _, last = text.rpartition("|")
    if not is_regard(last):
        done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=30)
        return Outcome(done.returncode, done.stdout, done.stderr)
    given = b""
    if feeding:
        given = subprocess.run(["bash", "-c", feeding], capture_output=True, check=True).stdout
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    capsys.readouterr()
    code = main(shlex.split(last, comments=True)[1:])
    return Outcome(code, *capsys.readouterr())


def check(command: Command, found: Outcome) -> None:
    assert (found.code != 0) == command.fails, (command, found)
    assert "Traceback" not in found.err
    if command.fails:
        assert command.shown == (found.err.splitlines()[-1],), "the page shows another message"
    elif is_regard(command.text) and shlex.split(command.text)[1] not in WRITES_TEXT:
        printed = {without_numbers(line) for line in (found.out + found.err).splitlines()}
        assert {without_numbers(line) for line in command.shown} <= printed, (command, printed)


def shorten_test_sets(folder: Path) -> None:
    for path in folder.rglob("test.??"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:TEST_LINES]), encoding="utf-8")


def run_python(text: str) -> None:
    exec(compile(smaller(text), "<page>", "exec"), {"__name__": "page"})


def test_the_readme(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    grammar.write(grammar.generate(400), tmp_path)
    shorten_test_sets(tmp_path)
    (tmp_path / "new.en").write_text("He slept.\nA dog slept.\n", encoding="utf-8")
    listed = [each for each in commands(README) if not each.text.startswith("make ")]
    assert len(listed) >= 2
    for command in listed:
        check(command, run(smaller(command.text), capsys, monkeypatch))
    assert len((tmp_path / "new.de").read_text().splitlines()) == 2
    (snippet,) = blocks(README, "python")
    run_python(snippet)
    assert (tmp_path / "look.html").exists()


def test_the_tutorial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = commands(TUTORIAL)
    assert sum(command.fails for command in listed) == 4
    for command in listed:
        check(command, run(smaller(command.text), capsys, monkeypatch))
        if command.text.startswith("regard corpus"):
            shorten_test_sets(tmp_path)
    for snippet in blocks(TUTORIAL, "python"):
        run_python(snippet)


def test_a_wrong_message_would_be_noticed() -> None:
    """The comparison itself can fail."""
    command = Command("regard info runs/x", ("steps: 400",))
    check(command, Outcome(0, "steps: 20\n", ""))
    with pytest.raises(AssertionError):
        check(command, Outcome(0, "updates: 20\n", ""))
    with pytest.raises(AssertionError):
        check(command, Outcome(1, "steps: 20\n", ""))
    refused = Command("regard info runs/x", ("regard: It is not a run.",))
    with pytest.raises(AssertionError):
        check(refused, Outcome(2, "", "regard: It is no run."))
