"""Reading standard input; in a terminal, a prompt asks for each line."""

from __future__ import annotations

import sys
from typing import BinaryIO, cast

import typer

from regard.cli.options import say
from regard.errors import UsageError


def standard_input() -> tuple[bool, BinaryIO]:
    """Whether a person types it, and the stream; if so, only its `readline` can be used."""
    if sys.stdin is None:
        raise UsageError("Standard input is closed: give the file to read with --input.")
    typing = sys.stdin.isatty()
    return typing, cast(BinaryIO, _Prompt()) if typing else sys.stdin.buffer


class _Prompt:
    """Standard input, typed by a person: a prompt on standard error asks for each line.

    The output stays free of it, and may go to a file.
    """

    def __init__(self) -> None:
        self._asked = False  # for the first line
        self._begins = True  # whether the next read begins a line

    def readline(self, size: int = -1) -> bytes:
        if not self._asked:
            say("Ready: type a line and press Enter; Ctrl-D ends.")
            self._asked = True
        try:
            if self._begins:
                typer.echo("> ", nl=False, err=True)
            line = sys.stdin.buffer.readline(size)
        except KeyboardInterrupt:
            say("")  # what the shell prints next begins a line of its own
            raise
        if not line:
            say("")
        self._begins = line.endswith(b"\n")
        return line
