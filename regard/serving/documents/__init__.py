"""Files that people translate: what is text in them, and the same file with other text."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from regard.serving.documents.base import Document, unreadable
from regard.serving.refusal import RefusedError

_HOMES = {
    ".txt": ("text", "PlainText"),
    ".html": ("text", "WebPage"),
    ".srt": ("subtitles", "Subtitles"),
    ".docx": ("word", "WordDocument"),
    ".odt": ("open_document", "OpenDocument"),
}
"""The module and the class for each suffix; imported when first needed."""

MEDIA_TYPES = {
    ".txt": "text/plain",
    ".html": "text/html",
    ".srt": "application/x-subrip",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".odt": "application/vnd.oasis.opendocument.text",
}
_PACKAGES = ("docx", "odfdo", "srt")
"""What the extra `files` installs."""


def formats() -> list[str]:
    """The suffixes that can be translated: none without the packages for them."""
    return list(_HOMES) if all(map(find_spec, _PACKAGES)) else []


def read_document(suffix: str, data: bytes) -> Document:
    """A file by its suffix; whatever is wrong with it is the client's mistake."""
    module, name = _HOMES[suffix]
    kind: Callable[[bytes], Document] = getattr(import_module(f"{__name__}.{module}"), name)
    try:
        return kind(data)
    except RefusedError:
        raise
    except MemoryError:
        raise
    except Exception as error:  # the libraries raise whatever they stumble over
        raise unreadable() from error
