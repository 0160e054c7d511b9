"""Translated files until they are fetched: nameless on the disk, bounded, and emptied by time."""

from __future__ import annotations

import re
import secrets
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, NamedTuple, Optional

from regard.serving.limits import Limits

MAX_NAME = 100
_UNSAFE = re.compile(r"[^\w.() -]+")


class Stored(NamedTuple):
    file: IO[bytes]
    name: str  # what the client calls it
    size: int
    until: float


class Store:
    """Files by names that cannot be guessed. A name is looked up in a table and never becomes part
    of a path. The files have no names on the disk: nobody else can open them, and nothing is left
    of them when the server ends, even if it is killed."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._files: OrderedDict[str, Stored] = OrderedDict()

    def add(self, name: str, data: bytes) -> str:
        """Keep a file, and what to ask for it by; the oldest ones make room."""
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._sweep(room=len(data))
            file = tempfile.TemporaryFile()  # noqa: SIM115
            file.write(data)
            file.flush()
            until = self._clock() + self._limits.file_seconds
            key = f"{token}.{safe_name(name)}"
            self._files[key] = Stored(file, safe_name(name), len(data), until)
        return key

    def find(self, key: str) -> Optional[tuple[str, bytes]]:
        """The name and the content of a file that is still there."""
        with self._lock:
            self._sweep()
            found = self._files.get(key)
            if found is None:
                return None
            found.file.seek(0)
            return found.name, found.file.read()

    def sweep(self) -> None:
        """Remove what is too old."""
        with self._lock:
            self._sweep()

    def close(self) -> None:
        with self._lock:
            for each in self._files.values():
                each.file.close()
            self._files.clear()

    def _sweep(self, room: int = 0) -> None:
        now, size = self._clock(), sum(each.size for each in self._files.values())
        for key, each in list(self._files.items()):
            is_full = room and (
                len(self._files) >= self._limits.files or size + room > self._limits.file_bytes
            )
            if each.until > now and not is_full:
                return
            each.file.close()
            del self._files[key]
            size -= each.size


def safe_name(name: str) -> str:
    """A file name without folders, control characters or anything that a header cannot hold."""
    last = _UNSAFE.sub("_", re.split(r"[/\\]", name)[-1]).strip(" .")
    stem, dot, suffix = last.rpartition(".")
    return f"{stem[: MAX_NAME - len(suffix)]}{dot}{suffix}"[-MAX_NAME:] or "file"
