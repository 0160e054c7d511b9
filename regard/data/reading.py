"""One pass over the bytes of one file: opened once, hashed, decompressed, errors with its line."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, Protocol

from regard.data.packaging import compression
from regard.data.zstandard import ZstdDecompressor, ZstdError
from regard.errors import UsageError

_BUFFER = 1 << 20
_BLOCK = 1 << 16
_MAX_MEMORY = 1 << 30
_VERSION = ("st_dev", "st_ino", "st_size", "st_mtime_ns")
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, ZstdError)


class Reading:
    """A file being read; `notes` and `digest` are complete at the end.

    `line` is where the reader is, for the message about a damaged file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.digest = ""
        self._began: Optional[os.stat_result] = None
        self._notes = dict[str, None]()

    @property
    def notes(self) -> list[str]:
        return list(self._notes)

    def note(self, sentence: str) -> None:
        """Say something about the file, once."""
        self._notes[sentence] = None

    def at(self, line: int) -> str:
        """How messages name a line of the file."""
        return f"{self.path}:{line}"

    @contextmanager
    def opened(self) -> Iterator[io.BufferedReader]:
        """The bytes, decompressed if the first of them say so, whatever the name of the file is."""
        name, packed = str(self.path), None
        with open_raw(self.path) as raw:
            self._began, hashed = os.fstat(raw.fileno()), _Hashed(raw)
            plain = _buffered(hashed)
            try:
                packed = compression(plain.peek(1))
                yield plain if packed is None else _decompressed(plain, packed)
                while plain.read(_BUFFER):
                    pass  # what a format leaves at the end belongs to the hash
            except _DAMAGED as error:
                raise UsageError(self._damage(packed, error)) from None
            except OSError as error:
                raise UsageError(f"Cannot read {name}: {error.strerror or error}.") from None
            self.digest = hashed.hash.hexdigest()

    def refuse_changed(self) -> None:
        """Lines of two versions of a file cannot be trusted to belong to those of another."""
        try:
            now = self.path.stat()
        except OSError:
            return  # deleted since: what was read is one version
        if any(getattr(self._began, name, None) != getattr(now, name) for name in _VERSION):
            raise UsageError(f"{self.path} was changed while it was read: give the command again.")

    def _damage(self, packed: Optional[str], error: Exception) -> str:
        if "memory" in str(error).lower():
            return (
                f"{self.path} needs too much memory to decompress: compress it again with the "
                f"default settings of {packed}."
            )
        return (
            f"{self.path} is a damaged {packed} file, readable up to line {self.line:,}: "
            "copy it again."
        )


def check_is_file(path: Path) -> None:
    """Refuse what cannot be read before any work is done."""
    try:
        path.stat()
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None
    if path.is_dir():
        raise UsageError(f"{path} is a folder: give a file with one sentence per line.")
    if not path.is_file():
        raise UsageError(
            f"{path} is not a regular file, but it is read more than once: save it to a file first."
        )


@contextmanager
def open_raw(path: Path) -> Iterator[io.RawIOBase]:
    try:
        raw = path.open("rb", buffering=0)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None
    with raw:
        yield raw


class _Hashed(io.RawIOBase):
    """Passes the bytes of a file through and hashes them."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self.hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self._raw.readinto(buffer) or 0
        self.hash.update(buffer[:count])
        return count


class _Decompressor(Protocol):
    """The interface that the decompressors of the standard library share."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_MEMORY),
    "bzip2": bz2.BZ2Decompressor,
    "zstd": ZstdDecompressor,
}


def _decompressed(plain: io.BufferedReader, packed: str) -> io.BufferedReader:
    if packed == "gzip":
        return _buffered(_Filled(gzip.GzipFile(fileobj=plain).read1))
    return _buffered(_Filled(_Streams(plain, _DECOMPRESSORS[packed]).read))


def _buffered(raw: io.RawIOBase) -> io.BufferedReader:
    return io.BufferedReader(raw, _BUFFER)


class _Filled(io.RawIOBase):
    """Decompressed bytes, as many as there is room for, so that the first tell what a file is.

    What comes before damage is passed on before the error is raised.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._error: Optional[Exception] = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        filled = 0
        try:
            while filled < len(buffer) and self._error is None:
                text = self._read(len(buffer) - filled)
                if not text:
                    return filled
                buffer[filled : filled + len(text)] = text
                filled += len(text)
        except (*_DAMAGED, OSError) as error:
            self._error = error
        if self._error is not None and not filled:
            raise self._error
        return filled


class _Streams:
    """The text of a compressed file, which may be several compressed one after the other.

    The file classes of the standard library ignore what follows the first stream if it is damaged;
    here it is an error, as it is for gzip. Zero bytes may fill up the end of a stream.
    """

    def __init__(self, plain: io.BufferedReader, new: Callable[[], _Decompressor]) -> None:
        self._plain = plain
        self._new = new
        self._current: Optional[_Decompressor] = None

    def read(self, length: int) -> bytes:
        """At most this many bytes; none at the end of the file."""
        while True:
            data = b""
            if self._current is None or self._current.eof:
                data = self._following(b"" if self._current is None else self._current.unused_data)
                if not data:
                    return b""
                self._current = self._new()
            elif self._current.needs_input:
                data = self._plain.read(_BLOCK)
                if not data:
                    raise EOFError("the file ends in the middle of a stream")
            try:
                text = self._current.decompress(data, length)
            except (OSError, ValueError) as error:  # bzip2's word for damage
                raise zlib.error(str(error)) from None
            if text:
                return text

    def _following(self, data: bytes) -> bytes:
        """The beginning of the next stream; nothing if there is none."""
        while True:
            data = data.lstrip(b"\0")
            if data:
                return data
            data = self._plain.read(_BLOCK)
            if not data:
                return b""
