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

INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "mark",
        "meter",
        "output",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "svg",
        "tt",
        "u",
        "var",
        "wbr",
        "math",
    ]
)
"""Elements inside a sentence; all others, br included, end one."""

VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
KEPT = frozenset(
    [
        "address",
        "applet",
        "audio",
        "canvas",
        "code",
        "embed",
        "math",
        "script",
        "style",
        "svg",
        "time",
        "video",
    ]
)
"""Elements whose content is not translated, as is that of any with translate="no"."""

MAX_DEPTH = 50
"""Inline elements inside each other; the tags of deeper ones stay where they are."""

MAX_UNCLOSED = 100
"""Signs that begin markup without one that ends it: parsing more takes quadratic time."""

_OUTER = re.compile(r"\A(\s*)(.*?)(\s*)\Z", re.DOTALL)


class _Element:
    """An open inline element; elements are told apart even if their tags are the same."""

    def __init__(self, name: str, tag: str) -> None:
        self.name = name
        self.tag = tag


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
    reader.feed(text)
    reader.close()
    return reader.finish()


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
        if isinstance(each, Point):
            found.append(each.content)
        else:
            enter([mark for mark in each.stack if isinstance(mark, _Element)])
            found.append(html.escape(each.text, quote=False))
    enter([])
    return "".join(found)


class _Reader(HTMLParser):
    """Divides a document into markup and marked texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self._items: list[Item] = []
        self._text: list[Union[Span, Point]] = []
        self._stack: list[_Element] = []
        self._kept: list[str] = []  # names of open elements whose content is not translated
        self._raw = ""  # what they contain
        self._preformatted = 0

    def finish(self) -> list[Item]:
        if self._kept:  # an element that is never closed
            self._text.append(Point(self._raw))
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
            self._text.append(Point(raw))
        else:
            self._block(raw)

    def handle_endtag(self, tag: str) -> None:
        if self._kept:
            self._raw += f"</{tag}>"
            if tag == self._kept[-1]:
                self._kept.pop()
                if not self._kept:
                    self._text.append(Point(self._raw))
        elif tag not in INLINE:
            self._block(f"</{tag}>")
            self._preformatted = max(0, self._preformatted - (tag == "pre"))
        elif tag in [element.name for element in self._stack]:
            self._close(tag)
        elif self._items:
            self._block(f"</{tag}>")  # opened around a whole block, or never

    def _inline(self, tag: str, raw: str) -> None:
        if tag in VOID or len(self._stack) >= MAX_DEPTH:
            self._text.append(Point(raw))
        else:
            self._stack.append(_Element(tag, raw))
            self._text.append(Span("", tuple(self._stack)))

    def _close(self, tag: str) -> None:
        """Close the innermost element of this name; without any text it is a point."""
        while self._stack:
            element = self._stack.pop()
            last = self._text[-1] if self._text else None
            if last == Span("", (*self._stack, element)):
                self._text[-1] = Point(f"{element.tag}</{element.name}>")
            if element.name == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._kept:
            self._raw += data
            return
        kept = data if self._preformatted else data.replace("\n", " ").replace("\r", " ")
        self._text.append(Span(kept, tuple(self._stack)))

    def handle_entityref(self, name: str) -> None:
        self._reference(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._reference(f"&#{name};")

    def _reference(self, raw: str) -> None:
        if self._kept:
            self._raw += raw
        else:
            self._text.append(Span(html.unescape(raw), tuple(self._stack)))

    def handle_comment(self, data: str) -> None:
        self._aside(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._aside(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self._aside(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self._aside(f"<![{data}]>")

    def _aside(self, raw: str) -> None:
        if self._kept:
            self._raw += raw
        else:
            self._text.append(Point(raw))

    def _block(self, raw: str) -> None:
        """End the text. Elements around all of it stay around whatever follows: they are no longer
        marks, and closing them ends a text too."""
        while self._stack and all(
            isinstance(each, Span) and (self._stack[0] in each.stack or not each.text.strip())
            for each in self._text
        ):
            outer = self._stack.pop(0)
            self._text = [
                Span(each.text, tuple(m for m in each.stack if m is not outer))
                for each in self._text
                if isinstance(each, Span)
            ]
            self._items.append(outer.tag)
        self._flush()
        self._items.append(raw)

    def _flush(self) -> None:
        text, self._text = self._text, []
        if not any(letter.isalnum() for letter in plain(text)):
            self._items.append(write_html(text))
            return
        lead, trail = _OUTER.match(plain(text)).group(1, 3)  # type: ignore[union-attr]
        self._items += [lead, _trimmed(text, len(lead), len(trail)), trail]


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
