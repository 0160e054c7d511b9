"""Texts as sentences and gaps: put back, they are the text, and each sentence fits the model."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.serving.sentences import split

WORDS = st.sampled_from(
    [
        *("Dr. ", "Smith ", "came. ", "No! ", "e.g. ", "a,b ", "\n", "\r\n", " ", "\t", "\u2028"),
        *("好。", "-- ", "\U0001f600 ", "1.5 ", "«x» ", "?!", "x" * 30, "\u00a0"),
    ]
)


def anything_fits(text: str) -> bool:
    return True


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=20).map("".join), st.integers(4, 40))
def test_sentences_and_gaps_are_the_text(text: str, most: int) -> None:
    found = split(text, "en", lambda sentence: len(sentence) <= most)
    assert found.join(found.texts) == text
    for each in found.texts:
        assert each == each.strip()
        assert any(map(str.isalnum, each))
        assert len(each) <= most
    assert not any(letter.isalnum() for gap in found.gaps for letter in gap)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Smith came. He sat.", ("Dr. Smith came.", "He sat.")),
        ("one\ntwo\r\n\r\nthree", ("one", "two", "three")),
        ("这是一句。这是另一句。", ("这是一句。", "这是另一句。")),
        ("--- \U0001f600 ...", ()),
    ],
)
def test_a_text_is_divided_by_the_rules_of_its_language(
    text: str, sentences: tuple[str, ...]
) -> None:
    assert split(text, "zh" if "这" in text else "en", anything_fits).texts == sentences


def test_a_long_sentence_is_divided_at_the_best_mark_near_its_middle() -> None:
    def short(text: str) -> bool:
        return len(text) <= 24

    assert split("The dog ran, it saw; the cat too", "en", short).texts == (
        "The dog ran, it saw;",
        "the cat too",
    )
    assert split("The dog ran there, and the cat", "en", short).texts == (
        "The dog ran there,",
        "and the cat",
    )
    assert split("x" * 40, "en", short).texts == ("x" * 20, "x" * 20)


@pytest.mark.parametrize("space", [" ", "\t", "\u00a0", "\n", " \n"])
def test_white_space_takes_no_time(space: str) -> None:
    text = f"ant{space * (20_000 // len(space))}bee"
    before = time.process_time()
    found = split(text, "en", anything_fits)
    assert time.process_time() - before < 2
    assert found.join(found.texts) == text
