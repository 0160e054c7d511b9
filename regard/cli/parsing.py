"""Explains a command line that cannot be parsed, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import typer

from regard.messages import unknown

ParserError = cast(type[typer.BadParameter], typer.BadParameter.__mro__[2])
"""The exception of the parser; typer bundles its own copy of click, so the class has no fixed
module."""


def explain(error: typer.BadParameter, given: Sequence[str], verbs: Sequence[str]) -> str:
    """The sentence, and the help of the verb that was used."""
    facts: dict[str, Any] = vars(error)
    parameter = facts.get("param")
    if given[0] not in verbs and not given[0].startswith("-"):
        sentence = unknown("command", given[0], verbs)
    elif "possibilities" in facts:
        known = [name for each in facts["ctx"].command.params for name in each.opts]
        sentence = unknown("option", facts["option_name"], known)
    elif parameter is not None and (reason := _reason(error)):
        sentence = f"{_name(parameter)} {reason}."
    else:
        sentence = error.format_message().replace("argument(s)", "arguments")
        sentence = sentence if sentence.endswith((".", "?")) else f"{sentence}."
    command = f"regard {given[0]}" if given[0] in verbs else "regard"
    return f"{sentence} See '{command} --help'."


def _reason(error: typer.BadParameter) -> str:
    """Why a value is refused, worded as for settings; empty if the parser gives no reason."""
    from pydantic import ValidationError

    from regard.config import refusal

    return refusal(error.__cause__) if isinstance(error.__cause__, ValidationError) else ""


def _name(parameter: Any) -> str:
    """--beam for an option, RUN for an argument."""
    option = next((name for name in parameter.opts if name.startswith("--")), None)
    return option or str(parameter.metavar or parameter.name)
