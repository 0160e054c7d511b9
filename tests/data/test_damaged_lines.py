"""What is wrong with a line or a pair by itself: found, and nothing else is."""

from __future__ import annotations

import pytest

from regard.data.damage import (
    has_controls,
    has_markup,
    is_copy,
    is_extreme,
    is_garbled,
    normalised,
    words_of,
)

TEXTS = (
    "schöne Grüße aus Österreich, „Ärger“ und Spaß – 5 €",
    "l’été à Noël : « ça va » où naïveté",
    "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "съешь же ещё этих мягких французских булок",
    "Ελληνικά, ωραία",
    "日本語の文章です。",
    "Zażółć gęślą jaźń",
    "emoji 🙂 and ‘quotes’",
)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("code", ["cp1252", "latin-1"])
def test_utf8_read_as_another_encoding_is_garbled(text: str, code: str) -> None:
    assert not is_garbled(text)
    try:
        garbled = text.encode().decode(code)
    except UnicodeDecodeError:  # Windows-1252 does not have every byte
        garbled = text.encode().decode(code, "replace")
    assert is_garbled(garbled)


def test_cyrillic_that_was_read_as_windows_1251_is_garbled() -> None:
    assert is_garbled("привет, мир".encode().decode("cp1251", "replace"))
    assert not is_garbled("РС и Рі, СТРАНА, РОССИЯ")


@pytest.mark.parametrize(
    "text", ["été »", "à »", "SPAß“", "Ø 5 cm", "AMANHÃ…", "São Paulo", "Ação", "naïve", "Íñigo"]
)
def test_rare_but_right_text_is_not_garbled(text: str) -> None:
    assert not is_garbled(text)


@pytest.mark.parametrize("letter", ["\x01", "\x1b", "\x7f", "\x85", "\x96", "\ufeff", "\ue000"])
def test_control_characters_are_found(letter: str) -> None:
    assert has_controls(f"a{letter}b")


@pytest.mark.parametrize(
    "text", ["a\tb", "a\u3000b", "a\u00a0b", "می\u200cخواهم", "👩\u200d🚀", ""]
)
def test_what_text_needs_is_no_control_character(text: str) -> None:
    assert not has_controls(text)


@pytest.mark.parametrize(
    "text",
    ["<b>bold</b>", "a<br/>b", '<a href="x">y</a>', "1 &amp; 2", "&#39;", "&#x27;", "<!-- x"],
)
def test_markup_is_found(text: str) -> None:
    assert has_markup(text)


@pytest.mark.parametrize("text", ["a < b > c", "AT&T", "x & y;", "<unk>", "<bt> text", "&nosuch;"])
def test_what_looks_like_markup_is_text(text: str) -> None:
    assert not has_markup(text)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("We saw the two dogs.", "We saw the two dogs."),
        ("We saw the two dogs.", "we saw the two dogs"),
        (
            "We saw the two dogs run through the grass.",
            "We saw the two dogs run through the gras.",
        ),
        ("私は東京に行きます。", "私は東京に行きます。"),
    ],
)
def test_untranslated_targets_are_copies(source: str, target: str) -> None:
    assert is_copy(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Anna Smith, New York", "Anna Smith, New York"),
        ("42", "42"),
        ("In 2024 Anna met Peter in Berlin.", "2024 traf Anna Peter in Berlin."),
        ("", ""),
        ("We saw the two dogs.", ""),
    ],
)
def test_names_and_numbers_are_no_copies(source: str, target: str) -> None:
    assert not is_copy(source, target)


def test_lengths() -> None:
    assert is_extreme("A dog.", "Ein Hund, der " * 8)
    assert not is_extreme("A", "Ein Hund")  # short lines vary
    assert not is_extreme("", "Ein Hund, der " * 8)


def test_near_duplicates_are_normalised_alike() -> None:
    assert normalised("Page 3 of 10!") == normalised("PAGE  4  of 12")
    assert normalised("?!") == "?!"
    assert words_of("It's 東京, Straße") == ["it", "s", "東", "京", "straße"]
