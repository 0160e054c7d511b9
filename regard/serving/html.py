"""HTML in, HTML out: the text is translated, and tags stay around the words they were around."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Optional, Union

from regard.serving.directions import Direction
from regard.serving.markup import Marked, Point, Span, plain, translate_marked
from regard.serving.refusal import invalid

INLINE = frozenset([
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font",
    "i", "img", "input", "ins", "kbd", "label", "mark", "math", "meter", "output", "q", "rp",
    "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "svg", "tt",
    "u", "var", "wbr",
])  # fmt: skip
"""Elements inside a sentence; all others, br included, end one."""

VOID = frozenset([
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
])  # fmt: skip
KEPT = frozenset([
    "address", "applet", "audio", "canvas", "code", "embed", "iframe", "math", "noembed",
    "noframes", "script", "style", "svg", "time", "video", "xmp",
])  # fmt: skip
"""Elements whose content is not translated, as is that of any with translate="no"."""

MAX_DEPTH = 50
"""Inline elements inside each other; the tags of deeper ones stay where they are."""

MAX_UNCLOSED = 100
"""Signs that begin markup without one that ends it: parsing more takes quadratic time."""

_LINE_END = re.compile(r"[\r\n]")


class _Element:
    """An open inline element; elements are told apart even if their tags are the same."""

    def __init__(self, name: str, tag: str) -> None:
        self.name = name
        self.tag = tag
        self.is_divided = False  # it goes on after a block that began inside it


Item = Union[str, list[Union[Span, Point]]]
"""Markup as it is, or a marked text to translate."""


async def translate_html(direction: Direction, texts: Sequence[str], deadline: float) -> list[str]:
    """Each document with its text translated, all in one go."""
    documents = [await asyncio.to_thread(read_html, text) for text in texts]
    marked = [item for items in documents for item in items if not isinstance(item, str)]
    rest = iter(await translate_marked(direction, marked, deadline))
    return [
        "".join(item if isinstance(item, str) else write_html(next(rest)) for item in items)
        for items in documents
    ]


def read_html(text: str) -> list[Item]:
    if text.count("<") > text.count(">") + MAX_UNCLOSED:
        raise invalid("the markup is malformed")
    reader = _Reader()
    try:
        reader.feed(text)
        reader.close()
    except (AssertionError, ValueError):  # an unknown section <![...]]>, a number of many digits
        raise invalid("the markup is malformed") from None
    return reader.finish()


def text_of(text: str) -> str:
    """The text that would be translated, to find out its language."""
    return "\n".join(plain(item) for item in read_html(text) if not isinstance(item, str))


def write_html(marked: Marked) -> str:
    """Text with its tags: what two neighbours have in common stays open between them."""
    found, open_now = list[str](), list[_Element]()

    def enter(stack: Sequence[_Element]) -> None:
        same = 0
        while same < min(len(open_now), len(stack)) and open_now[same] is stack[same]:
            same += 1
        found.extend(f"</{element.name}>" for element in reversed(open_now[same:]))
        found.extend(element.tag for element in stack[same:])
        open_now[same:] = stack[same:]

    for each in marked:
        enter([mark for mark in each.stack if isinstance(mark, _Element)])
        found.append(
            html.escape(each.text, quote=False) if isinstance(each, Span) else each.content
        )
    enter([])
    return "".join(found)


class _Reader(HTMLParser):
    """Divides a document into markup and marked texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._items: list[Item] = []
        self._text: list[Union[Span, Point]] = []
        self._stack: list[_Element] = []
        self._kept: list[str] = []  # names of open elements whose content is not translated
        self._raw = ""  # what they contain
        self._preformatted = 0

    def finish(self) -> list[Item]:
        if self._kept:  # an element that is never closed; the parser may not have read all of it
            self._point(self._raw + self.rawdata)
        self._flush()
        return self._items

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        raw = self.get_starttag_text() or ""
        if self._kept:
            self._raw += raw
            if tag == self._kept[-1] and tag not in VOID:
                self._kept.append(tag)
        elif tag not in VOID and (tag in KEPT or ("translate", "no") in attrs):
            self._kept, self._raw = [tag], raw
        elif tag in INLINE:
            self._inline(tag, raw)
        else:
            self._block(raw)
            self._preformatted += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        raw = self.get_starttag_text() or ""
        if self._kept:
            self._raw += raw
        elif tag in INLINE or tag in KEPT:
            self._point(raw)
        else:
            self._block(raw)

    def handle_endtag(self, tag: str) -> None:
        if self._kept:
            self._raw += f"</{tag}>"
            if tag == self._kept[-1]:
                self._kept.pop()
                if not self._kept:
                    self._point(self._raw)
        elif tag not in INLINE:
            self._block(f"</{tag}>")
            self._preformatted = max(0, self._preformatted - (tag == "pre"))
        elif tag in [element.name for element in self._stack]:
            self._close(tag)
        elif self._items:
            self._block(f"</{tag}>")  # opened around a whole block, or never

    def _inline(self, tag: str, raw: str) -> None:
        if tag in VOID or len(self._stack) >= MAX_DEPTH:
            self._point(raw)
        else:
            self._stack.append(_Element(tag, raw))
            self._text.append(Span("", tuple(self._stack)))

    def _point(self, raw: str) -> None:
        self._text.append(Point(raw, tuple(self._stack)))

    def _close(self, tag: str) -> None:
        """Close the innermost element of this name; without any text it is a point."""
        while self._stack:
            element = self._stack.pop()
            last = self._text[-1] if self._text else None
            if last == Span("", (*self._stack, element)):
                self._text.pop()
                self._point(f"{element.tag}</{element.name}>")
            if element.name == tag:
                return

    def handle_data(self, data: str) -> None:
        if not self._kept:
            self._text.append(Span(data, tuple(self._stack)))
        elif self.cdata_elem in (None, "textarea", "title"):
            self._raw += html.escape(data, quote=False)
        else:
            self._raw += data  # of a script

    def handle_comment(self, data: str) -> None:
        self._aside(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._aside(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self._aside(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        end = "]>" if data.startswith(("if", "else", "endif")) else "]]>"
        self._aside(f"<![{data}{end}")

    def _aside(self, raw: str) -> None:
        if self._kept:
            self._raw += raw
        else:
            self._point(raw)

    def _block(self, raw: str) -> None:
        """End the text. Elements around all of it stay around whatever follows: they are no longer
        marks, and closing them ends a text too."""
        while self._stack and not self._stack[0].is_divided and self._is_around(self._stack[0]):
            outer = self._stack.pop(0)
            self._text = [
                each._replace(stack=tuple(mark for mark in each.stack if mark is not outer))
                for each in self._text
            ]
            self._items.append(outer.tag)
        for element in self._stack:
            element.is_divided = True
        self._flush()
        self._items.append(raw)

    def _is_around(self, element: _Element) -> bool:
        """Whether all of the text is inside an element."""
        return all(
            element in each.stack or (isinstance(each, Span) and not each.text.strip())
            for each in self._text
        )

    def _flush(self) -> None:
        """Only what is between the first and the last word is translated."""
        text, self._text = self._text, []
        if not any(letter.isalnum() for letter in plain(text)):
            self._items.append(write_html(text))
            return
        start, end = _edges(text)
        whole = plain(text[start:end])
        lead = whole[: len(whole) - len(whole.lstrip())]
        trail = whole[len(whole.rstrip()) :]
        inner = _trimmed(text[start:end], len(lead), len(trail))
        if not self._preformatted:
            inner = [
                Span(_LINE_END.sub(" ", each.text), each.stack) if isinstance(each, Span) else each
                for each in inner
            ]
        self._items += [write_html(text[:start]), lead, inner, trail, write_html(text[end:])]


def _edges(text: Marked) -> tuple[int, int]:
    """Where the text begins after the points before its first letter, and where it ends before
    those after its last one."""
    solid = [
        index for index, each in enumerate(text) if isinstance(each, Span) and each.text.strip()
    ]
    before = [index + 1 for index in range(solid[0]) if isinstance(text[index], Point)]
    after = [index for index in range(solid[-1], len(text)) if isinstance(text[index], Point)]
    return max(before, default=0), min(after, default=len(text))


def _trimmed(text: Marked, lead: int, trail: int) -> list[Union[Span, Point]]:
    """Without so many characters at its beginning and its end."""
    found = list(text)
    for order, count, front in (
        (range(len(found)), lead, True),
        (range(len(found))[::-1], trail, False),
    ):
        for index in order:
            each = found[index]
            if isinstance(each, Span) and count:
                less = min(count, len(each.text))
                kept = each.text[less:] if front else each.text[: len(each.text) - less]
                found[index] = Span(kept, each.stack)
                count -= less
    return found
