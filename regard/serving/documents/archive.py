"""Checks of zipped XML before any library opens it: bombs and hostile XML are refused."""

from __future__ import annotations

from io import BytesIO
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile, ZipInfo

from regard.serving.documents.base import unreadable
from regard.serving.refusal import invalid

MAX_FILES = 2_000
MAX_BYTES = 50_000_000
"""Of all files in the archive, unpacked."""

MAX_ELEMENTS = 300_000
MAX_DEPTH = 200
_ENCRYPTED = 0x1


def check_archive(data: bytes) -> None:
    """Refuse what is too large unpacked, encrypted, or has XML with a document type: this is where
    entities are declared, and no word processor writes one."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_FILES or sum(entry.file_size for entry in entries) > MAX_BYTES:
                raise invalid("the file is too large when it is unpacked")
            if any(entry.flag_bits & _ENCRYPTED for entry in entries):
                raise invalid("the file is encrypted")
            elements = 0
            for entry in entries:
                if _is_xml(entry):
                    elements += _count_elements(archive.read(entry), MAX_ELEMENTS - elements)
    except (BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError):
        raise unreadable() from None


def _is_xml(entry: ZipInfo) -> bool:
    return entry.file_size > 0 and entry.filename.lower().endswith((".xml", ".rels", ".rdf"))


def _count_elements(data: bytes, most: int) -> int:
    """The elements of an XML file, which is read to its end unless it has too many."""
    count = depth = 0

    def begin(name: str, attributes: object) -> None:
        nonlocal count, depth
        count, depth = count + 1, depth + 1
        if count > most or depth > MAX_DEPTH:
            raise invalid("the file has too many elements")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*parts: object) -> None:
        raise invalid("the file declares a document type, which is not allowed")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        raise unreadable() from None
    return count
