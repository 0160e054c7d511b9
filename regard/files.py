"""Files that are there whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import UsageError


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Write under a temporary name; at the end sync, rename, sync the folder.

    What is there and no file of its own, such as /dev/stdout, is written to as it is.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder: give the name of a file.")
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path = path.resolve()  # a link stays a link
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent}: make it first.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def clear_strays(folder: Path) -> None:
    """Remove what processes that were killed had begun to write."""
    for stray in folder.glob(".*.tmp"):
        number = stray.name.split(".")[-2]
        if not (number.isdecimal() and _lives(int(number))):
            stray.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    """Whether another process has this number; ours is writing nothing while it clears away."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def write_text(path: Path, text: str) -> None:
    with writing(path) as stream:
        stream.write(text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; anything else in the file is refused in one sentence."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"{path} is missing.") from None
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is not valid JSON: it was damaged or is not ours.") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path} does not hold what it should: it was damaged or is not ours.")
    return value


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
