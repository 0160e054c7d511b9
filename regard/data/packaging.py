"""Recognises a file by its first bytes: text, compressed text, or another format, which is refused
by name."""

from __future__ import annotations

import re
from typing import Optional

from regard.errors import UsageError

START = 4096
"""Number of first bytes that are enough to recognise a file."""

_COMPRESSED = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
}

_DECOMPRESS = "decompress it first, or compress it with gzip, xz, bzip2 or zstd"
_UNPACK = "unpack it and give the text files inside"
_AS_TEXT = "save it as plain text in UTF-8, one sentence per line"
_AS_PAIRS = "give it with --pairs and --columns, or export it as plain text"
_EXPORT = "export it as TSV, CSV or JSON lines"

# A name that is also a possible beginning of text needs the bytes that follow it in such a file.
_REFUSED: tuple[tuple[re.Pattern[bytes], str, str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), name, advice)
    for pattern, name, advice in (
        (rb"PK\x03\x04.{0,4000}?word/", "a Word document (docx)", _AS_TEXT),
        (rb"PK\x03\x04.{0,4000}?xl/", "an Excel workbook (xlsx)", "save it as CSV in UTF-8"),
        (rb"PK\x03\x04.{0,4000}?ppt/", "a PowerPoint presentation (pptx)", _AS_TEXT),
        (rb"PK\x03\x04.{26}mimetype.{0,40}opendocument", "an OpenDocument file", _AS_TEXT),
        (rb"PK(?:\x03\x04|\x05\x06)", "a zip archive", _UNPACK),
        (rb"Rar!\x1a\x07", "a rar archive", _UNPACK),
        (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
        (rb".{257}ustar", "a tar archive", _UNPACK),
        (rb"\x04\x22\x4d\x18", "an lz4 file", _DECOMPRESS),
        (rb"LZIP\x01", "an lzip file", _DECOMPRESS),
        (rb"\]\x00\x00.{2}[\x00\xff]", "an lzma file", _DECOMPRESS),
        (rb"\x1f[\x9d\xa0]", "a file made by compress (.Z)", _DECOMPRESS),
        (rb"\xff\x06\x00\x00sNaPpY", "a snappy file", _DECOMPRESS),
        (rb"%PDF-", "a PDF document", _AS_TEXT),
        (rb"\{\\rtf", "an RTF document", _AS_TEXT),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document (doc or xls)", _AS_TEXT),
        (rb"PAR1\x15", "a Parquet file", _AS_PAIRS),
        (rb"ARROW1\x00|\xff\xff\xff\xff.{4}\x10\x00", "an Arrow file", _EXPORT),
        (rb"SQLite format 3\x00", "an SQLite database", _EXPORT),
        (rb"\xff\xd8\xff|\x89PNG\r\n|GIF8[79]a", "a picture", "give a file of text"),
        (rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff", "UTF-32 text", "convert it to UTF-8"),
        (rb"\xff\xfe|\xfe\xff", "UTF-16 text", "convert it to UTF-8"),
    )
)

# Text of western languages in UTF-16 without a mark: a zero byte beside each of the first letters.
_UNMARKED = re.compile(rb"(?:[^\0]\0){4}|(?:\0[^\0]){4}")
_WIDE = (b"\xff\xfe", b"\xfe\xff")


def compression(start: bytes) -> Optional[str]:
    """The compression of a file that begins with these bytes, if it is one that is read."""
    return next((name for name, magic in _COMPRESSED.items() if magic.match(start)), None)


def refuse_other(start: bytes, name: str) -> None:
    """Refuse a file that is not text, naming its format."""
    if (packed := compression(start)) is not None:
        raise UsageError(f"{name} is compressed with {packed} here: decompress it first.")
    for pattern, kind, advice in _REFUSED:
        if pattern.match(start):
            raise UsageError(f"{name} is {kind}: {advice}.")
    if _UNMARKED.match(start):
        raise UsageError(f"{name} is UTF-16 text without a byte order mark: convert it to UTF-8.")


def as_ascii(start: bytes) -> str:
    """The beginning of a text as far as its letters are ASCII, in UTF-8 or UTF-16; for signatures
    only."""
    if start.startswith(_WIDE):
        return start.decode("utf-16", "ignore").lstrip("\ufeff")
    if start.startswith(b"\x00<"):
        return start.decode("utf-16-be", "ignore")
    if start.startswith(b"<\x00"):
        return start.decode("utf-16-le", "ignore")
    return start.decode("utf-8", "ignore").lstrip("\ufeff")
