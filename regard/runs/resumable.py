"""Long work that writes lines to a file: killed midway, the same call continues where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from regard.errors import UsageError
from regard.files import locked, read_json, sync_folder, write_json
from regard.terminal import Count, uncounted

CHUNK = 2048
"""Lines between two saves."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class _Progress:
    """How much of the partial file is complete."""

    lines: int = 0
    size: int = 0  # in bytes


def write_resumably(
    output: Path,
    identity: Mapping[str, Any],
    items: Iterable[Item],
    work: Callable[[Sequence[Item]], Iterable[str]],
    count: Count = uncounted,
) -> None:
    """Write the line that `work` makes of each item, in order, to a file that appears when
    complete.

    `work` gets the items in chunks that are always the same, so that the result does not depend on
    where it was stopped. `identity` is everything the result depends on: a partial file with
    another one is refused. `count` is told how many more lines are done.
    """
    if output.is_dir():
        raise UsageError(f"{output} is a folder: give the name of a file.")
    output = output.resolve()  # so that a symbolic link stays one
    if not output.parent.is_dir():
        raise UsageError(f"The folder {output.parent} does not exist: create it first.")
    partial = output.with_name(f"{output.name}.partial")
    record = output.with_name(f"{output.name}.partial.json")
    with locked(partial, f"Another process is writing {partial}: wait for it.") as stream:
        progress = _begin(record, partial, dict(identity))
        stream.truncate(progress.size)
        stream.seek(progress.size)
        count(progress.lines)
        rest = islice(items, progress.lines, None)
        while chunk := list(islice(rest, CHUNK)):
            lines = [line.replace("\n", " ") + "\n" for line in work(chunk)]
            stream.write("".join(lines).encode("utf-8", errors="replace"))
            stream.flush()
            os.fsync(stream.fileno())
            progress = _Progress(progress.lines + len(lines), stream.tell())
            write_json(record, {**identity, "lines": progress.lines, "size": progress.size})
            count(len(lines))
        os.replace(partial, output)
    record.unlink()
    sync_folder(output.parent)


def _begin(record: Path, partial: Path, identity: dict[str, Any]) -> _Progress:
    """What has been done already, if it was done with the same identity."""
    if not record.exists() or not partial.stat().st_size:  # also after a kill at the very end
        write_json(record, {**identity, "lines": 0, "size": 0})
        return _Progress()
    found = read_json(record)
    lines, size = found.pop("lines", None), found.pop("size", None)
    if found != json.loads(json.dumps(identity)):
        raise UsageError(
            f"{partial} was started with a different model, text or settings: give the same "
            "ones to continue, or delete it to start again."
        )
    if not (isinstance(lines, int) and isinstance(size, int)) or partial.stat().st_size < size:
        raise UsageError(f"{partial} is corrupt: delete it to start again.")
    return _Progress(lines, size)
