"""Drawn words: pictures that show what they say, where they say it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard.corpora.drawn_words import (
    DIGITS,
    GLYPHS,
    HEIGHT,
    LETTERS,
    MAX_LETTERS,
    MAX_PAIRS,
    draw_word,
    generate,
    glyph,
    write,
)
from regard.corpora.registry import write_corpus
from regard.data.annotations import Pixels
from regard.data.line import Line
from regard.data.pictures import parse
from regard.errors import UsageError


def test_no_two_letters_look_the_same() -> None:
    seen = {glyph(letter).tobytes() for letter in GLYPHS}
    assert len(seen) == len(GLYPHS) == 36
    assert all(glyph(letter).shape == (7, 5) for letter in GLYPHS)
    assert glyph("L")[0].tolist() == [1, 0, 0, 0, 0]
    assert glyph("L")[-1].tolist() == [1, 1, 1, 1, 1]


def test_words_have_one_to_eight_letters_or_digits() -> None:
    words = [drawn.word for drawn in generate(600, held_out=0)["train"]]
    assert {len(word) for word in words} == set(range(1, MAX_LETTERS + 1))
    assert {letter for word in words for letter in word} == {*LETTERS, *DIGITS}
    numbers = [word.isdigit() for word in words]
    assert 0.15 < np.mean(numbers) < 0.35
    assert all(word.isdigit() or word.isalpha() for word in words)


def test_letters_are_inside_their_boxes_from_left_to_right() -> None:
    """The mean over many drawings of the same word averages noise and clutter away."""
    for drawn in generate(200, held_out=0)["train"]:
        height, width = drawn.pixels.shape
        assert height == HEIGHT
        assert len(drawn.boxes) == len(drawn.word)
        lefts = [box[0] for box in drawn.boxes]
        assert lefts == sorted(lefts)
        assert all(0 <= box[0] < box[2] <= width for box in drawn.boxes)
        assert all(0 <= box[1] < box[3] <= height for box in drawn.boxes)


def test_ink_is_where_the_boxes_are() -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    inside, outside = [], []
    for _ in range(50):
        drawn = draw_word(generator, "HB8")
        mask = np.zeros(drawn.pixels.shape, bool)
        for box in drawn.boxes:
            left, top, right, bottom = map(round, box)
            mask[top:bottom, left:right] = True
        inside.append(drawn.pixels[mask].mean())
        outside.append(drawn.pixels[~mask].mean())
    assert np.mean(inside) < np.mean(outside) - 50


def test_a_seed_decides_and_the_training_size_does_not() -> None:
    small, large = generate(5, held_out=3), generate(9, held_out=3)
    assert [each.source for each in small["train"]] == [each.source for each in large["train"][:5]]
    assert [each.source for each in small["test"]] == [each.source for each in large["test"]]
    other = generate(5, seed=2, held_out=3)
    assert other["test"][0].source != small["test"][0].source
    assert small["valid"][0].source != small["test"][0].source


def test_impossible_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="At most"):
        write_corpus("drawn_words", tmp_path, MAX_PAIRS + 1)
    with pytest.raises(ValueError, match="negative"):
        generate(-1)


def test_files_have_the_same_pictures_as_lines(tmp_path: Path) -> None:
    corpus = generate(4, held_out=3)
    write(corpus, tmp_path)
    write(corpus, tmp_path)  # changes nothing
    kind = Pixels(HEIGHT, 4)
    sources = (tmp_path / "test.source").read_text().splitlines()
    paths = (tmp_path / "test.paths").read_text().splitlines()
    boxes = (tmp_path / "test.boxes").read_text().splitlines()
    for drawn, source, path, box in zip(corpus["test"], sources, paths, boxes, strict=True):
        assert np.array_equal(parse(source), drawn.pixels)
        assert kind.load(Line(path), tmp_path, "here").text == source
        assert len(box.split()) == len(drawn.word)
    with pytest.raises(UsageError, match="exists with different content"):
        write(generate(4, seed=2, held_out=3), tmp_path)
