"""A command whose help names values instead of types, and which never overwrites its inputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from regard.data.globs import matching
from regard.files import check_outputs

_TYPES = {
    "<path>": "FILE",
    "<list[Path]>": "FILE",
    "<str>": "TEXT",
    "<int>": "NUMBER",
    "<int range>": "NUMBER",
    "<float>": "NUMBER",
    "<float range>": "NUMBER",
}
"""What the help of an option shows for a type, unless the option has a name for its value."""


_SECTIONS = {"valid": "Validation data", "test": "Test data"}
"""Options whose names begin like this have sections of their own in the help."""


class Verb(TyperCommand):
    """A command whose help names no types: `RUN` and `--beam NUMBER`.

    With the options `device` and `precision`, it runs on that device and in that precision. Its
    outputs are the paths whose parameters are called `output` or `output_...`; none of them may be
    a file that it reads.
    """

    def invoke(self, ctx: Any) -> Any:
        written: list[Path] = []
        read: list[Path] = []
        for name, value in ctx.params.items():
            given = value if isinstance(value, list) else [value]
            paths = [each for each in given if isinstance(each, Path)]
            (written if name.split("_")[0] == "output" else read).extend(paths)
        check_outputs(written, [file for path in read for file in matching(path)])
        device, precision = ctx.params.get("device"), ctx.params.get("precision")
        if device is None and precision is None:
            return super().invoke(ctx)
        from regard.processes.devices import check_precision, on_device

        with on_device(device, precision and check_precision(precision)):
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Required arguments without typer's braces: `regard look [OPTIONS] RUN [SENTENCE]`."""
        return [re.sub(r"^\{(.*)\}", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if (record := each.get_help_record(ctx)) is not None:
                is_option = each.param_type_name == "option"
                own = _SECTIONS.get((each.name or "").split("_")[0], "Options")
                rows = sections.setdefault(own if is_option else "Arguments", [])
                rows.append((_shown(record[0], is_option), record[1]))
        for title in ("Arguments", "Options", *_SECTIONS.values()):
            if title in sections:
                with formatter.section(title):
                    formatter.write_dl(sections[title])


def _shown(name: str, is_option: bool) -> str:
    """Without a type; only an option needs another word for it."""
    return re.sub(r" (<.*>)$", lambda found: f" {_TYPES[found[1]]}" if is_option else "", name)
