"""Commands of regard in this process, and what may be said when they refuse."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from typing import Any

import typer.main

from regard.cli import main

typer.main.get_command = cache(typer.main.get_command)  # typer builds all verbs for each command

MOST_CHARACTERS = 1_000
"""Of a sentence."""


@dataclass(frozen=True)
class Said:
    """The exit code of a command and what it wrote to its two streams."""

    code: int
    output: str
    errors: str

    @property
    def refused(self) -> bool:
        return self.code in (1, 2)

    def assert_one_sentence(self) -> None:
        """The last line is the one sentence that says what to do, and there is no traceback."""
        assert_sentence(self.code, self.errors)


def assert_sentence(code: int, said: str) -> None:
    assert code in (1, 2), f"exit code {code}: {said}"
    assert "Traceback (most recent call last)" not in said, said
    lines = said.strip().splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("regard: ")]
    assert starts, f"no sentence: {said!r}"
    sentence = "".join(lines[starts[-1] :])
    assert starts[-1] == len(lines) - 1, f"more than a sentence: {sentence}"
    assert len(sentence) <= MOST_CHARACTERS, sentence
    assert sentence.endswith((".", "?")), sentence


def regard(*arguments: Any) -> Said:
    """Run a command. An exception that it lets through is a failure of the attempt."""
    output, errors = _Kept(), _Kept()
    with redirect_stdout(output), redirect_stderr(errors):
        code = main([str(each) for each in arguments])
    return Said(code, output.text(), errors.text())


class _Kept(io.TextIOWrapper):
    """A stream in memory that, as standard output, also takes bytes."""

    def __init__(self) -> None:
        self.kept = io.BytesIO()
        super().__init__(self.kept, encoding="utf-8")

    def text(self) -> str:
        self.flush()
        return self.kept.getvalue().decode("utf-8", "replace")
