"""Files that appear complete or not at all."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import UsageError

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The errors of a full disk, an exhausted quota and a limit on file sizes."""


def check_outputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse to write a file that is also read, or two things to the same file."""
    read = [path for path in inputs if path.is_file()]
    written: list[Path] = []
    for path in outputs:
        if path.is_file() and any(path.samefile(each) for each in read):
            raise UsageError(f"{path} is also an input and would be lost: write to another file.")
        if path.is_file() or not path.exists():  # a device may be written to twice
            if real_path(path) in written:
                raise UsageError(f"{path} is given for two outputs: give a file for each.")
            written.append(real_path(path))


def real_path(path: Path) -> Path:
    """What a symbolic link names; unlike `Path.resolve`, links in a circle are no error."""
    return Path(os.path.realpath(path))


def destination(path: Path) -> Path:
    """Where a file is written, so that a symbolic link stays one; a place where none can be is
    refused."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder: give the name of a file.")
    path = real_path(path)
    if path.parent.exists() and not path.parent.is_dir():
        raise UsageError(f"{path.parent} is a file: give the name of a file in a folder.")
    if not path.parent.is_dir():
        raise UsageError(f"The folder {path.parent} does not exist: create it first.")
    return path


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Write to a temporary name, then sync, rename and sync the folder.

    Anything that is not a regular file, such as /dev/stdout, is written to directly.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as stream:
            yield stream
        return
    given, path = path, destination(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and _is_about(error, temporary):
            error.filename, error.filename2 = str(given), None
        raise
    sync_folder(path.parent)


def _is_about(error: OSError, path: Path) -> bool:
    """Whether a file could not be written; a write that finds no space names none."""
    return error.filename == str(path) or (error.filename is None and error.errno in NO_SPACE)


def clear_strays(folder: Path) -> None:
    """Remove temporary files and folders that killed processes left behind, in its folders too."""
    for stray in list(folder.rglob(".*.tmp")):
        number = stray.name.split(".")[-2]
        if number.isdecimal() and _is_running(int(number)):
            continue
        if stray.is_dir():
            shutil.rmtree(stray, ignore_errors=True)
        else:
            stray.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    """Whether another process has this id; ours writes nothing while it clears strays."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs under another user
    return True


@contextmanager
def locked(path: Path, refusal: str) -> Iterator[BinaryIO]:
    """A file that one process at a time may open like this; all others are refused.

    One that was renamed or removed while it was opened is refused too: it belongs to the process
    that did so.
    """
    with path.open("ab+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_mine = os.path.samestat(os.fstat(stream.fileno()), path.stat())
        except OSError:
            is_mine = False
        if not is_mine:
            raise UsageError(refusal)
        yield stream


def write_text(path: Path, text: str) -> None:
    """In UTF-8; a byte of a path that is not UTF-8, a lone surrogate in Python, is written as JSON
    escapes it."""
    with writing(path) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; anything else in the file raises a UsageError."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"{path} is missing.") from None
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, RecursionError):
        raise UsageError(
            f"{path} is not valid JSON: it is corrupt or was not written by regard."
        ) from None
    if not isinstance(value, dict):
        raise UsageError(
            f"{path} is not a JSON object: it is corrupt or was not written by regard."
        )
    return value


DIGEST = "digest"
"""The entry of a JSON object that is the hash of all its other entries."""


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with the hash of its entries, by which damage is noticed."""
    if DIGEST in value:
        raise ValueError(f"an object to be sealed has an entry '{DIGEST}' of its own")
    return {**value, DIGEST: _digest(value)}


def read_sealed(
    path: Path, may_lack: Callable[[Mapping[str, Any]], bool] = lambda value: False
) -> dict[str, Any]:
    """Read a JSON object that was sealed, without its hash.

    Another hash is refused, and so is a missing one, unless the object `may_lack` it, as those that
    an earlier version wrote.
    """
    value = read_json(path)
    digest = value.pop(DIGEST, None)
    if digest != _digest(value) and not (digest is None and may_lack(value)):
        raise UsageError(f"{path} is corrupt or was changed: restore it from a copy.")
    return value


def _digest(value: Mapping[str, Any]) -> str:
    """The hash of the object as it will be read back, with every key as text."""
    plain = json.loads(json.dumps(value))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def hash_file(path: Path) -> str:
    """The sha256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
