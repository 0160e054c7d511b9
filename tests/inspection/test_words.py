"""Pieces to words, for every kind of tokenizer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.data.tokenizer import Bytes, Characters, Tokenizer, TokenizerSettings, Words
from regard.data.tokenizers import train
from regard.data.words import Side, group, merge
from regard.inspection.alignment import links

LINES = ["the animal was tired", "the street was wide", "a tired animal", "wide streets"] * 20
SUBWORDS = train(TokenizerSettings(vocabulary=300), LINES)
TOKENIZERS = [
    SUBWORDS,
    Words(["the", "animal", "was", "wide"]),
    Characters(sorted(set("".join(LINES)))),
    Bytes(),
]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda each: each.kind)
def test_words_are_those_between_spaces(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(["the animal was wide"])[0]
    words, word_of = group(tokenizer, ids)
    assert words == ["the", "animal", "was", "wide"]
    assert len(word_of) == len(ids)
    assert word_of == sorted(word_of)
    for number, word in enumerate(words):
        mine = [id for id, place in zip(ids, word_of, strict=True) if place == number]
        assert tokenizer.decode(mine).strip() == word


def test_a_letter_of_several_bytes_stays_in_its_word() -> None:
    ids = SUBWORDS.encode(["the 😀 street"])[0]
    words, word_of = group(SUBWORDS, ids)
    assert words == ["the", "😀", "street"]
    assert set(word_of) == {0, 1, 2}


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
@example("0\r\xa00")  # a no-break space in two bytes, the first of which decodes to a mark
def test_any_text_has_as_many_words_as_spaces_say(text: str) -> None:
    ids = SUBWORDS.encode([text])[0]
    words, word_of = group(SUBWORDS, ids)
    expected = text.replace("\u2581", " ").split()  # SentencePiece's mark for a space
    assert words == (expected or ([""] if ids else []))
    assert len(word_of) == len(ids)
    assert all(0 <= number < len(words) for number in word_of)
    assert word_of == sorted(word_of)


def test_rows_are_means_and_columns_are_sums() -> None:
    looking = Side((4, 5, 2), ("a", "b", "</s>"), ("ab", "</s>"), (0, 0, 1))
    looked_at = Side((4, 5, 6, 2), ("c", "d", "e", "</s>"), ("c", "de", "</s>"), (0, 1, 1, 2))
    weights = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.3, 0.3, 0.3], [1.0, 0, 0, 0]])
    np.testing.assert_allclose(
        merge(weights, looking, looked_at), [[0.3, 0.5, 0.2], [1.0, 0.0, 0.0]]
    )


def test_a_word_without_a_piece_looks_at_nothing() -> None:
    """A piece with a no-break space in it says two words, and belongs to the last."""
    words = Words(["a\u00a0b", "c"])
    side = Side.of(words, [4, 5])
    assert side.words == ("a", "b", "c", "</s>")
    assert side.word_of == (1, 2, 3)
    merged = merge(np.eye(3), side, side)
    np.testing.assert_array_equal(merged, np.diag([0.0, 1.0, 1.0, 1.0]))
    assert links(merged[:-1, :-1], "grow-diag") == {(1, 1), (2, 2)}


def test_what_a_decoder_reads_is_one_place_behind() -> None:
    words = TOKENIZERS[1]
    side = Side.of(words, words.encode(["the animal"])[0])
    assert side.pieces == ("the", "animal", "</s>")
    assert side.word_of == (0, 1, 2)
    read = side.shifted(words)
    assert read.words == ("<s>", "the", "animal")
    assert read.word_of == (0, 1, 2)
