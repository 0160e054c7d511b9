"""Plain text and web pages, in the encoding they came in."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from regard.serving.documents.base import Document, is_prose
from regard.serving.fields import clean
from regard.serving.html import read_html, write_html
from regard.serving.markup import Marked, Span, plain
from regard.serving.refusal import invalid

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_CHARSET = re.compile(rb"<meta\b[^>]*\bcharset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_DECLARED = re.compile(
    r"utf-?8|us-ascii|latin-?1|iso-8859-\d+|windows-125\d|cp125\d|koi8-[ru]|shift_jis|euc-(jp|kr)"
    r"|big5|gbk?|gb2312|gb18030",
    re.IGNORECASE,
)
HEAD_BYTES = 4096
"""Where a page declares its encoding."""

MAX_TAGS = 300_000


def decoded(data: bytes, encoding: str = "utf-8") -> tuple[bytes, str, str]:
    """The byte order mark, the encoding and the text."""
    mark = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    encoding = _MARKS.get(mark, encoding)
    try:
        return mark, encoding, data[len(mark) :].decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise invalid(f"the file is not text in {encoding.upper()}") from None


class PlainText(Document):
    """Each line is a text."""

    def __init__(self, data: bytes) -> None:
        self._mark, self._encoding, text = decoded(data)
        self._lines = [[Span(line)] for line in clean(text).splitlines(keepends=True)]
        self.texts = [line for line in self._lines if is_prose(list(line))]

    def write(self, texts: Sequence[Marked]) -> bytes:
        rest = iter(texts)
        lines = [plain(next(rest) if is_prose(list(line)) else line) for line in self._lines]
        return self._mark + "".join(lines).encode(self._encoding)


class WebPage(Document):
    """HTML, whose tags follow their words."""

    def __init__(self, data: bytes) -> None:
        declared = _CHARSET.search(data[:HEAD_BYTES])
        name = declared[1].decode() if declared else "utf-8"
        self._mark, self._encoding, text = decoded(
            data, name if _DECLARED.fullmatch(name) else "utf-8"
        )
        if text.count("<") > MAX_TAGS:
            raise invalid("the file has too many elements")
        self._items = read_html(clean(text))
        self.texts = [item for item in self._items if not isinstance(item, str)]

    def write(self, texts: Sequence[Marked]) -> bytes:
        rest = iter(texts)
        found = [item if isinstance(item, str) else write_html(next(rest)) for item in self._items]
        return self._mark + "".join(found).encode(self._encoding, errors="xmlcharrefreplace")
