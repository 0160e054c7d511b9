"""Tags stay around the words they were around, and nothing but text is translated."""

from __future__ import annotations

import time
from contextlib import suppress
from html.parser import HTMLParser

import pytest
from clients import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.detection import MAX_CHARACTERS
from regard.predict import Candidate
from regard.serving import service
from regard.serving.html import read_html, text_of, write_html
from regard.serving.markup import Point, Span, transfer
from regard.serving.refusal import RefusedError
from regard.serving.sentences import Sentences
from regard.serving.translating import Sentence, Translation


def html(client: Client, text: str) -> str:
    answer = client.translate(text, format="html", alternatives=1).json
    assert answer["alternatives"] == []
    return str(answer["translatedText"])


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("<p>ant <b>bee</b> cat</p>", "<p>CAT <b>BEE</b> ANT</p>"),
        ("<b>ant</b> bee cat", "CAT BEE <b>ANT</b>"),
        ("<p>ant <a href='/x'>bee <i>cat</i></a> dog</p>", None),
        (
            "<ul><li>ant bee</li>\n  <li>cat</li></ul>",
            "<ul><li>BEE ANT</li>\n  <li>CAT</li></ul>",
        ),
        ("ant bee<br>cat dog", "BEE ANT<br>DOG CAT"),
        ("<code>ant bee</code>", "<code>ant bee</code>"),
        ('<p translate="no">ant <p>bee</p> cat</p>', '<p translate="no">ant <p>bee</p> cat</p>'),
        ("<script>if (a < b) ant()</script>ant", "<script>if (a < b) ant()</script>ANT"),
        ("<p>ant</p><script>a < b; <p>bee</p> c", "<p>ANT</p><script>a < b; <p>bee</p> c"),
        ("ant <style>a {} </b bee", "ANT <style>a {} </b bee"),
        ("<!doctype html><!-- ant --><p>ant", "<!doctype html><!-- ant --><p>ANT"),
        ('<a href="/">\n <div>ant bee</div></a>', '<a href="/">\n <div>BEE ANT</div></a>'),
    ],
)
def test_tags_stay_with_their_words(client: Client, source: str, target: str | None) -> None:
    found = html(client, source)
    if target is not None:
        assert found == target
    else:
        assert found == "<p>DOG <a href='/x'><i>CAT</i> BEE</a> ANT</p>"


def test_points_go_before_the_word_they_were_before(client: Client) -> None:
    assert html(client, "ant <img src=x> bee cat") == "CAT <img src=x>BEE ANT"
    assert html(client, "<img>ant bee<wbr>") == "<img>BEE ANT<wbr>"


def test_text_stays_text(client: Client) -> None:
    """What was escaped is escaped again: a text cannot become markup."""
    found = html(client, "<p>&lt;script&gt; ant &amp; bee</p>")
    assert "<script>" not in found
    assert found.startswith("<p>")
    assert found.endswith("</p>")


def aligned(source: str, target: str, links: set[tuple[int, int]]) -> Translation:
    sentence = Sentence(source, Candidate(target, 0.0, 0.0, 1), (), frozenset(links))
    return Translation(Sentences((source,), ("", "")), (sentence,))


def test_a_mark_may_be_divided_but_is_never_lost() -> None:
    divided = transfer(
        [Span("he "), Span("picked up", ("b",)), Span(" it.")],
        aligned("he picked up it.", "er hob es auf.", {(0, 0), (1, 1), (2, 3), (3, 2)}),
    )
    assert divided == [
        Span("er "),
        Span("hob", ("b",)),
        Span(" es "),
        Span("auf", ("b",)),
        Span("."),
    ]
    lost = transfer([Span("a "), Span("b", ("x",)), Span(" c")], aligned("a b c", "A C", {(0, 0)}))
    assert ("x",) in [each.stack for each in lost if isinstance(each, Span)]
    placed = transfer([Span("a "), Point(1), Span("b")], aligned("a b", "B A", {(0, 1), (1, 0)}))
    assert placed == [Point(1), Span("B A")]


class Outline(HTMLParser):
    """What is in a document: its tags in order, with the words between them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = [""]
        self.feed(text)
        self.close()

    @property
    def words(self) -> list[str]:
        return "".join(each for each in self.found if each[:1] != "<").split()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"<{tag} {attrs}>", ""]

    def handle_endtag(self, tag: str) -> None:
        self.found += [f"</{tag}>", ""]

    def handle_comment(self, data: str) -> None:
        self.found += [f"<!--{data}-->", ""]

    def handle_data(self, data: str) -> None:
        self.found[-1] += data.replace("<", "LESS").replace("\n", " ")


def untranslated(text: str) -> str:
    """A document read and written."""
    items = read_html(text)
    return "".join(each if isinstance(each, str) else write_html(each) for each in items)


LEAVES = st.sampled_from(
    [
        *("one ", "two\nthree", " ", "\n", "&amp;", "AT&T ", "&lt;b&gt;", "<br>", "<img src='x'>"),
        *("<!-- c -->", "<script>a < b &amp; c</script>", "<code>a &lt; b</code>"),
    ]
)
NAMES = st.sampled_from(["b", "i", "a", "p", "div", "li", "pre", "span translate=no"])


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    content = st.lists(inner, max_size=4).map("".join)
    return st.builds(lambda name, text: f"<{name}>{text}</{name.split()[0]}>", NAMES, content)


DOCUMENTS = st.lists(st.recursive(LEAVES, nested, max_leaves=12), max_size=4).map("".join)


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS)
def test_a_well_formed_document_keeps_all_it_has(text: str) -> None:
    """Only a tag that begins in the middle of a sentence and ends in another block is divided."""
    before, after = Outline(text), Outline(untranslated(text))
    assert after.words == before.words
    for each in before.found:
        if each[:1] == "<":
            assert after.found.count(each) >= before.found.count(each)
    blocks = [each for each in before.found if each.startswith(("<p", "<div", "<li", "<br", "<!"))]
    assert [each for each in after.found if each in blocks] == [
        each for each in before.found if each in blocks
    ]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(LEAVES, NAMES.map("<{}>".format), NAMES.map("</{}>".format))))
def test_no_word_of_a_malformed_document_is_lost(parts: list[str]) -> None:
    text = "".join(parts)
    assert Outline(untranslated(text)).words == Outline(text).words


@pytest.mark.parametrize(
    "text",
    [
        "<p>\n  a\n</p>\n\n<p>b</p>\n",
        "<pre>a\n  b</pre>",
        "x <b>y</b> &lt;z&gt; AT&amp;T",
        "<title>a &amp; b</title><textarea>c &lt; d</textarea>",
        "<code>a</code> b <a href='x'>c</a> <img>",
        "<![CDATA[a]]>b<![if IE]>c<![endif]>",
    ],
)
def test_what_is_not_translated_is_not_changed(text: str) -> None:
    assert untranslated(text) == text


def test_a_tag_around_a_block_and_words_is_divided() -> None:
    assert untranslated("x <b>y<p>z</p></b>") == "x <b>y</b><p><b>z</b></p>"
    assert untranslated("<b>x <img></b>") == "<b>x</b> <b><img></b>"


@pytest.mark.parametrize("text", ["<![ant[bee]]>", f"&#{'1' * 9000};", f"<a b='&#{'1' * 9000}'>"])
def test_markup_that_no_parser_reads_is_refused(client: Client, text: str) -> None:
    answer = client.translate(text, format="html")
    assert (answer.status, answer.json["error"]) == (
        400,
        "Invalid request: the markup is malformed",
    )


@pytest.mark.parametrize("text", ["<!--", "<![", "<a ", "<a b='", "</", "&", "<b>", "<p", "<?"])
def test_hostile_documents_take_no_time(text: str) -> None:
    started = time.process_time()
    with suppress(RefusedError):
        read_html(text * (50_000 // len(text)))
    assert time.process_time() - started < 5


def test_marks_that_no_word_is_linked_to_take_no_time() -> None:
    names = [f"m{number}" for number in range(1500)]
    marked = [Span("a ", (name,)) for name in names]
    started = time.process_time()
    found = transfer(marked, aligned("a " * 1500, "x " * 1500, set()))
    assert time.process_time() - started < 3
    assert {mark for each in found for mark in each.stack} == set(names)


@pytest.mark.parametrize("text", ["<p>the ant and the bee</p>", "<br><p>"])
def test_a_language_is_found_without_reading_everything(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """While it is looked for, no other request is served."""
    read = list[str]()

    def reading(markup: str) -> str:
        read.append(markup)
        return text_of(markup)

    monkeypatch.setattr(service, "text_of", reading)
    texts = [text * (1000 // len(text))] * 100
    found = service._joined(texts, "html")
    assert 1 < len(read) < 50
    everything = "\n".join(map(text_of, texts))
    assert found[:MAX_CHARACTERS].split() == everything[:MAX_CHARACTERS].split()
