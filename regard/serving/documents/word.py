"""Word documents (.docx, python-docx): runs are rebuilt with the formatting of their words.

Tables, headers, footers, notes, comments and text boxes are paragraphs too. Fields such as page
numbers, content controls inside a paragraph, formulas and deleted text stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from io import BytesIO
from typing import Any, NamedTuple, Optional, Union, cast

import docx
from docx.opc.constants import CONTENT_TYPE
from docx.opc.part import PartFactory, XmlPart
from docx.oxml.ns import qn
from docx.oxml.parser import OxmlElement, parse_xml
from lxml import etree

from regard.serving.documents.archive import check_archive
from regard.serving.documents.base import Document, ItemReader, Paragraph, legal
from regard.serving.markup import Marked, Point, Span, Stack

PartFactory.part_type_for.setdefault(CONTENT_TYPE.WML_FOOTNOTES, XmlPart)
PartFactory.part_type_for.setdefault(CONTENT_TYPE.WML_ENDNOTES, XmlPart)

_PARTS = frozenset([
    CONTENT_TYPE.WML_DOCUMENT_MAIN, CONTENT_TYPE.WML_HEADER, CONTENT_TYPE.WML_FOOTER,
    CONTENT_TYPE.WML_FOOTNOTES, CONTENT_TYPE.WML_ENDNOTES, CONTENT_TYPE.WML_COMMENTS,
])  # fmt: skip
_AROUND = frozenset(map(qn, ("w:hyperlink", "w:ins", "w:moveTo", "w:smartTag")))
_DIVIDING = frozenset(map(qn, ("w:tab", "w:br", "w:cr", "w:ptab")))
_DROPPED = frozenset(
    map(qn, ("w:pPr", "w:rPr", "w:proofErr", "w:lastRenderedPageBreak", "w:softHyphen"))
)
_OF_LANGUAGE = tuple(map(qn, ("w:lang", "w:noProof")))
_FIELD, _FIELD_KIND = qn("w:fldChar"), qn("w:fldCharType")


class _Around(NamedTuple):
    """An element around runs, such as a link."""

    tag: str
    attributes: tuple[tuple[str, str], ...]


class _Format(NamedTuple):
    """The properties of a run as XML; empty: none."""

    xml: bytes


class WordDocument(Document):
    def __init__(self, data: bytes) -> None:
        check_archive(data)
        self._document = docx.Document(BytesIO(data))
        self._paragraphs = [
            (element, Paragraph(_Reader(element).items))
            for part in self._document.part.package.iter_parts()
            if part.content_type in _PARTS and isinstance(part, XmlPart)
            for element in list(part.element.iter(qn("w:p")))
        ]
        self.texts = [text for _, paragraph in self._paragraphs for text in paragraph.texts]

    def write(self, texts: Sequence[Marked]) -> bytes:
        rest = iter(texts)
        for element, paragraph in self._paragraphs:
            if paragraph.texts:
                _rewrite(element, list(paragraph.replaced(rest)))
        stream = BytesIO()
        self._document.save(stream)
        return stream.getvalue()


class _Reader(ItemReader):
    """The text of a paragraph; what is in it besides text becomes points."""

    def __init__(self, paragraph: Any) -> None:
        super().__init__()
        self._fields = 0  # that are open
        self._walk(paragraph, ())

    def _walk(self, parent: Any, around: tuple[_Around, ...]) -> None:
        for child in parent:
            if child.tag in _DROPPED:
                continue
            if child.tag == qn("w:r"):
                self._run(child, around)
            elif child.tag in _AROUND:
                attributes = tuple(sorted(child.attrib.items()))
                self._walk(child, (*around, _Around(child.tag, attributes)))
            else:
                self.point(Point(child, around))

    def _run(self, run: Any, around: tuple[_Around, ...]) -> None:
        properties = run.find(qn("w:rPr"))
        stack = (*around, _format(properties))
        for child in run:
            if child.tag in _DROPPED:
                continue
            if child.tag == _FIELD:
                kind = child.get(_FIELD_KIND)
                self._fields = max(0, self._fields + (kind == "begin") - (kind == "end"))
                self.point(Point(_Single(child, properties), around))
            elif self._fields:
                self.point(Point(_Single(child, properties), around))
            elif child.tag == qn("w:t"):
                self.text(child.text or "", stack)
            elif child.tag == qn("w:noBreakHyphen"):
                self.text("\u2011", stack)
            elif child.tag in _DIVIDING:
                self.divide(Point(_Single(child, properties), around))
            else:
                self.point(Point(_Single(child, properties), around))


class _Single(NamedTuple):
    """Something other than text in a run, and the properties of the run. The run of its own that
    it gets is made when the document is written, so that reading changes nothing."""

    child: Any
    properties: Optional[Any]

    def run(self) -> Any:
        run = OxmlElement("w:r")
        if self.properties is not None:
            run.append(deepcopy(self.properties))
        self.child.tail = None
        run.append(self.child)
        return run


def _format(properties: Optional[Any]) -> _Format:
    """Properties without the language, which will be another one."""
    if properties is None:
        return _Format(b"")
    kept = deepcopy(properties)
    for child in list(kept):
        if child.tag in _OF_LANGUAGE:
            kept.remove(child)
    return _Format(etree.tostring(kept) if len(kept) else b"")


def _rewrite(paragraph: Any, parts: Iterable[Union[Span, Point]]) -> None:
    """Put these parts in the place of everything but the properties of a paragraph."""
    found = [_element(part) for part in parts]
    for child in list(paragraph):
        if child.tag != qn("w:pPr"):
            paragraph.remove(child)
    parent, open_now = paragraph, Stack()
    for around, element in found:
        if around != open_now:
            parent, open_now = paragraph, around
            for tag, attributes in around:
                inner = etree.SubElement(parent, tag)
                inner.attrib.update(attributes)
                parent = inner
        parent.append(element)


def _element(part: Union[Span, Point]) -> tuple[Any, Any]:
    """What a part is written as, and the elements around it."""
    if isinstance(part, Point):
        single = isinstance(part.content, _Single)
        return part.stack, part.content.run() if single else part.content
    *around, form = cast(tuple[Any, ...], part.stack)
    run = OxmlElement("w:r")
    if form.xml:
        run.append(parse_xml(form.xml))
    run.text = legal(part.text)
    return tuple(around), run
