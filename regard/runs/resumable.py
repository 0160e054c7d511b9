"""Long work that writes lines to a file: killed midway, the same call continues where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from regard.errors import UsageError
from regard.files import destination, locked, read_json, sync_folder, write_json
from regard.terminal import Count, uncounted

CHUNK = 2048
"""Lines between two saves."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class _Progress:
    """How much of the partial file is complete."""

    lines: int = 0
    size: int = 0  # in bytes
    truncated: int = 0  # lines of the input


def write_resumably(
    output: Path,
    identity: Mapping[str, Any],
    items: Iterable[Item],
    work: Callable[[Sequence[Item]], Iterable[str]],
    count: Count = uncounted,
    truncated: Callable[[], int] = lambda: 0,
) -> int:
    """Write the line that `work` makes of each item, in order, to a file that appears when
    complete.

    `work` gets the items in chunks that are always the same, so that the result does not depend on
    where it was stopped. `identity` is everything the result depends on: a partial file with
    another one is refused. `count` is told how many more lines are done. `truncated` says how many
    lines of the input were truncated in this process; returned is how many were in all.
    """
    output = destination(output)
    partial = output.with_name(f"{output.name}.partial")
    record = output.with_name(f"{output.name}.partial.json")
    with locked(partial, f"Another process is writing {partial}: wait for it.") as stream:
        progress = _begin(record, partial, dict(identity))
        before = progress.truncated
        stream.truncate(progress.size)
        stream.seek(progress.size)
        count(progress.lines)
        rest = islice(items, progress.lines, None)
        while chunk := list(islice(rest, CHUNK)):
            lines = [line.replace("\n", " ") + "\n" for line in work(chunk)]
            stream.write("".join(lines).encode("utf-8", errors="replace"))
            stream.flush()
            os.fsync(stream.fileno())
            done = progress.lines + len(lines)
            progress = _Progress(done, stream.tell(), before + truncated())
            write_json(record, {**identity, **asdict(progress)})
            count(len(lines))
        os.replace(partial, output)
    record.unlink()
    sync_folder(output.parent)
    return progress.truncated


def _begin(record: Path, partial: Path, identity: dict[str, Any]) -> _Progress:
    """What has been done already, if it was done with the same identity."""
    if not record.exists() or not partial.stat().st_size:  # also after a kill at the very end
        write_json(record, {**identity, **asdict(_Progress())})
        return _Progress()
    found = read_json(record)
    lines, size = found.pop("lines", None), found.pop("size", None)
    truncated = found.pop("truncated", 0)  # earlier versions did not keep it
    if found != json.loads(json.dumps(identity)):
        raise UsageError(
            f"{partial} was started with a different model, text or settings: give the same "
            "ones to continue, or delete it to start again."
        )
    if (
        not all(isinstance(each, int) for each in (lines, size, truncated))
        or partial.stat().st_size < size
    ):
        raise UsageError(f"{partial} is corrupt: delete it to start again.")
    return _Progress(lines, size, truncated)
