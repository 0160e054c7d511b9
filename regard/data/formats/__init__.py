"""The formats in which a file may have pairs: one class each, found by content or by suffix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

from regard.data.formats.base import Columns, Format, Record
from regard.data.formats.delimited import Csv, Tsv
from regard.data.formats.json_lines import JsonLines
from regard.data.formats.parquet import MAGIC, Parquet
from regard.data.formats.tmx import Tmx
from regard.data.formats.xliff import Xliff
from regard.data.packaging import START, as_ascii, refuse_other
from regard.data.reading import Reading
from regard.errors import UsageError

_COMPRESSED = (".gz", ".xz", ".bz2", ".zst", ".zstd")
_SUFFIXES: dict[str, type[Format]] = {
    ".tsv": Tsv,
    ".tab": Tsv,
    ".csv": Csv,
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
    ".json": JsonLines,
    ".tmx": Tmx,
    ".xlf": Xliff,
    ".xliff": Xliff,
    ".sdlxliff": Xliff,
    ".mxliff": Xliff,
    ".mqxliff": Xliff,
    ".parquet": Parquet,
    ".pq": Parquet,
}
_XML = re.compile(r"\s*<(?:\?xml|!DOCTYPE\s+(?:tmx|xliff)|(?:\w+:)?(?:tmx|xliff)[\s>])")
_ROOT = re.compile(r"<(?:\w+:)?(tmx|xliff)[\s>]")
_OBJECT = re.compile(r'\s*\{\s*"')


def records(reading: Reading, columns: Optional[Columns]) -> Iterator[Record]:
    """Every pair of a file, in whatever format it is."""
    with reading.opened() as stream:
        start = stream.peek(1)[:START]
        found = _find(reading.path, as_ascii(start))
        if found is not Parquet and not _XML.match(as_ascii(start)):  # XML may be UTF-16
            refuse_other(start, str(reading.path))
        yield from found(reading, columns).records(stream)


def _find(path: Path, start: str) -> type[Format]:
    """XML and Parquet are known by how they begin; else the suffix counts, then how an object
    begins."""
    if start.startswith(MAGIC):
        return Parquet
    suffixes = [suffix for suffix in path.suffixes if suffix.lower() not in _COMPRESSED]
    named = _SUFFIXES.get(suffixes[-1].lower()) if suffixes else None
    if _XML.match(start):
        root = _ROOT.search(start)
        if root is not None:
            return {"tmx": Tmx, "xliff": Xliff}[root[1]]
        if named not in (Tmx, Xliff):
            raise UsageError(
                f"{path} is XML, but neither TMX nor XLIFF: export it in one of these, or as TSV."
            )
    if named is JsonLines and start.lstrip().startswith("["):
        raise UsageError(
            f"{path} is one JSON array: write one object per line, for example with jq -c '.[]'."
        )
    if named is not None:
        return named
    return JsonLines if _OBJECT.match(start) else Tsv
