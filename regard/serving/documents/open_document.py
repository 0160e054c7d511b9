"""OpenDocument texts (.odt): odfdo opens and saves the package, and spans follow their words.

Tables, headers, footers, notes, comments and text boxes are paragraphs too. Fields such as page
numbers and the record of tracked changes stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any, NamedTuple, Union

from lxml import etree
from odfdo.container import Container

from regard.serving.documents.archive import check_archive
from regard.serving.documents.base import Document, ItemReader, Paragraph, legal, unreadable
from regard.serving.markup import Marked, Point, Span, Stack

TEXT_TYPES = (
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.text-template",
)
_PARTS = ("content.xml", "styles.xml")
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_PARAGRAPHS = (f"{_TEXT}p", f"{_TEXT}h")
_AROUND = (f"{_TEXT}span", f"{_TEXT}a")
_DIVIDING = (f"{_TEXT}tab", f"{_TEXT}line-break")
_SPACES, _COUNT = f"{_TEXT}s", f"{_TEXT}c"
_DROPPED = f"{_TEXT}soft-page-break"
_CHANGES = f"{_TEXT}tracked-changes"
_SPACE = re.compile(r"[ \t\r\n]+")


class _Around(NamedTuple):
    """An element around text: a span with its style, or a link."""

    tag: str
    attributes: tuple[tuple[str, str], ...]


class OpenDocument(Document):
    def __init__(self, data: bytes) -> None:
        check_archive(data)
        self._container = Container()
        self._container.open(BytesIO(data))
        if self._container.mimetype not in TEXT_TYPES:
            raise unreadable()
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        self._roots = {
            name: etree.fromstring(self._container.get_part(name), parser)
            for name in _PARTS
            if name in self._container.parts
        }
        self._paragraphs = [
            (element, Paragraph(_Reader(element).items))
            for root in self._roots.values()
            for element in list(root.iter(*_PARAGRAPHS))
            if next(element.iterancestors(_CHANGES), None) is None
        ]
        self.texts = [text for _, paragraph in self._paragraphs for text in paragraph.texts]

    def write(self, texts: Sequence[Marked]) -> bytes:
        rest = iter(texts)
        for element, paragraph in self._paragraphs:
            if paragraph.texts:
                _rewrite(element, paragraph.replaced(rest))
        for name, root in self._roots.items():
            text = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
            self._container.set_part(name, text)
        stream = BytesIO()
        self._container.save(stream)
        return stream.getvalue()


class _Reader(ItemReader):
    """The text of a paragraph; what is in it besides text becomes points."""

    def __init__(self, paragraph: Any) -> None:
        super().__init__()
        self._walk(paragraph, ())

    def _walk(self, parent: Any, around: Stack) -> None:
        self._text(parent.text, around)
        for child in parent:
            count = child.get(_COUNT, "1") if child.tag == _SPACES else ""
            if child.tag in _AROUND:
                attributes = tuple(sorted(child.attrib.items()))
                self._walk(child, (*around, _Around(child.tag, attributes)))
            elif child.tag in _DIVIDING or count not in ("", "1"):
                self.divide(Point(child, around))
            elif count:
                self.text(" ", around)
            elif child.tag != _DROPPED:
                self.point(Point(child, around))
            self._text(child.tail, around)

    def _text(self, text: str | None, around: Stack) -> None:
        if text:
            self.text(_SPACE.sub(" ", text), around)


def _rewrite(paragraph: Any, parts: Iterable[Union[Span, Point]]) -> None:
    """Put these parts in the place of everything in a paragraph."""
    found = list(parts)
    for child in list(paragraph):
        paragraph.remove(child)
    paragraph.text = None
    parent, open_now = paragraph, Stack()
    for part in found:
        if part.stack != open_now:
            parent, open_now = paragraph, part.stack
            for each in part.stack:
                assert isinstance(each, _Around)
                inner = etree.SubElement(parent, each.tag)
                inner.attrib.update(each.attributes)
                parent = inner
        if isinstance(part, Span):
            _append(parent, legal(part.text))
        else:
            part.content.tail = None
            parent.append(part.content)


def _append(parent: Any, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
