"""Tags stay around the words they were around, and nothing but text is translated."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from conftest import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.predict import Candidate
from regard.serving.html import read_html, write_html
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
    assert html(client, "ant <img src=x> bee cat") == "CAT <img src=x>BEE  ANT"
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


TAGS = st.sampled_from(
    "<b> </b> <i> </i> <p> </p> <br> <div> </div> <a href='x'> </a> <code> </code> <img> "
    "<!-- c --> &amp; &lt; &nope; < > text words <pre> </pre> <span/>".split()
)


@settings(max_examples=300, deadline=None)
@given(st.lists(TAGS, max_size=15).map(" ".join))
def test_any_document_can_be_read_and_written(text: str) -> None:
    items = read_html(text)
    written = "".join(each if isinstance(each, str) else write_html(each) for each in items)
    assert written.count("words") == text.count("words")
    assert written.count("<img>") == text.count("<img>")


@pytest.mark.parametrize("text", ["<!--", "<![", "<a ", "<a b='", "</", "&", "<b>", "<p", "<?"])
def test_hostile_documents_take_no_time(text: str) -> None:
    started = time.monotonic()
    with suppress(RefusedError):
        read_html(text * (50_000 // len(text)))
    assert time.monotonic() - started < 5
