"""Words and numbers drawn as small pictures, with noise, shift and clutter, and where each letter
is.

The words are random letters, so that only who reads the picture can know them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.corpora.writing import write_files
from regard.errors import UsageError
from regard.files import writing

HEIGHT = 16
MAX_LETTERS = 8
MAX_PAIRS = 200_000
NUMBERS = 0.25
"""The share of numbers among the words."""

GLYPH_ROWS, GLYPH_COLUMNS = 7, 5
GLYPHS = {
    "A": "0E11111F111111",
    "B": "1E11111E11111E",
    "C": "0E11101010110E",
    "D": "1E11111111111E",
    "E": "1F10101E10101F",
    "F": "1F10101E101010",
    "G": "0E11101711110E",
    "H": "1111111F111111",
    "I": "0E04040404040E",
    "J": "0702020202120C",
    "K": "11121418141211",
    "L": "1010101010101F",
    "M": "111B1515111111",
    "N": "11111915131111",
    "O": "0E11111111110E",
    "P": "1E11111E101010",
    "Q": "0E11111115120D",
    "R": "1E11111E141211",
    "S": "0F10100E01011E",
    "T": "1F040404040404",
    "U": "1111111111110E",
    "V": "1111110A0A0404",
    "W": "11111115151B11",
    "X": "11110A040A1111",
    "Y": "11110A04040404",
    "Z": "1F01020408101F",
    "0": "0E13151515190E",
    "1": "040C140404041F",
    "2": "0E11010608101F",
    "3": "0E11010601110E",
    "4": "02060A121F0202",
    "5": "1F101E0101110E",
    "6": "0608101E11110E",
    "7": "1F010204080808",
    "8": "0E11110E11110E",
    "9": "0E11110F01020C",
}
"""Letters of 5 by 7 pixels: two hexadecimal digits per row, whose last five bits are its pixels."""

LETTERS = tuple(letter for letter in GLYPHS if letter.isalpha())
DIGITS = tuple(letter for letter in GLYPHS if letter.isdigit())

Pixels = NDArray[np.float64]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a letter's ink, in pixels."""


@dataclass(frozen=True)
class DrawnWord:
    """A picture (HEIGHT, width) of grey values, 0 is black, with its word and where that is."""

    pixels: NDArray[np.uint8]
    word: str
    boxes: tuple[Box, ...]

    @property
    def source(self) -> str:
        """The picture as text: a word for each row, with its grey values between commas."""
        return " ".join(",".join(map(str, row)) for row in self.pixels.tolist())

    @property
    def boxes_text(self) -> str:
        return " ".join(",".join(f"{edge:.1f}" for edge in box) for box in self.boxes)


def glyph(letter: str) -> Pixels:
    """The pixels (7, 5) of a letter, 1 where it has ink."""
    rows = np.frombuffer(bytes.fromhex(GLYPHS[letter]), np.uint8)
    return np.unpackbits(rows[:, None], axis=1)[:, 8 - GLYPH_COLUMNS :].astype(np.float64)


def draw_word(generator: np.random.Generator, word: str) -> DrawnWord:
    """Letters of a random size, at a random place, on paper with strokes and noise."""
    scale = generator.uniform(1.0, 1.35)
    gaps = generator.uniform(1.0, 2.5, len(word))
    text_width = scale * GLYPH_COLUMNS * len(word) + gaps[:-1].sum()
    width = int(np.ceil(text_width)) + int(generator.integers(2, 13))
    x = generator.uniform(0.5, width - text_width - 0.5)
    y = generator.uniform(1.0, HEIGHT - scale * GLYPH_ROWS - 1.0)
    ink, boxes = np.zeros((HEIGHT, width)), []
    for letter, gap in zip(word, gaps, strict=True):
        top = y + generator.uniform(-0.8, 0.8)
        pixels = glyph(letter)
        down = _coverage(HEIGHT, top, scale, GLYPH_ROWS)
        across = _coverage(width, x, scale, GLYPH_COLUMNS)
        ink = np.maximum(ink, down @ pixels @ across.T)
        boxes.append(_box(pixels, x, top, scale))
        x += scale * GLYPH_COLUMNS + gap
    darkness = generator.uniform(0.6, 0.9)
    cluttered = np.maximum(darkness * ink, _clutter(generator, width))
    paper = generator.uniform(0.9, 1.0) - cluttered + generator.normal(0, 0.06, ink.shape)
    return DrawnWord(np.rint(255 * paper.clip(0, 1)).astype(np.uint8), word, tuple(boxes))


def _coverage(pixels: int, start: float, scale: float, cells: int) -> Pixels:
    """(pixels, cells): how much of each pixel is covered by each cell of so many pixels, of which
    the first begins at `start`."""
    edges = np.arange(pixels)[:, None]
    begins = start + scale * np.arange(cells)
    overlap = np.minimum(edges + 1, begins + scale) - np.maximum(edges, begins)
    return overlap.clip(0, 1)


def _box(pixels: Pixels, x: float, y: float, scale: float) -> Box:
    rows, columns = (np.flatnonzero(pixels.any(axis=axis)) for axis in (1, 0))
    left, right = x + scale * columns[0], x + scale * (columns[-1] + 1)
    return left, y + scale * rows[0], right, y + scale * (rows[-1] + 1)


def _clutter(generator: np.random.Generator, width: int) -> Pixels:
    """Short strokes, of which a wider picture has more."""
    drawn = np.zeros((HEIGHT, width))
    for _ in range(generator.poisson(1 + width / 24)):
        row, column = generator.uniform(0, HEIGHT), generator.uniform(0, width)
        angle, length = generator.uniform(0, np.pi), generator.uniform(1, 5)
        along = np.arange(0, length, 0.5)
        rows = np.rint(row + along * np.sin(angle)).astype(int).clip(0, HEIGHT - 1)
        columns = np.rint(column + along * np.cos(angle)).astype(int).clip(0, width - 1)
        drawn[rows, columns] = generator.uniform(0.2, 0.5)
    return drawn


def draw_text(generator: np.random.Generator) -> str:
    """A word of 1 to 8 random letters, or a number of as many digits."""
    letters = DIGITS if generator.random() < NUMBERS else LETTERS
    count = int(generator.integers(1, MAX_LETTERS + 1))
    return "".join(letters[index] for index in generator.integers(0, len(letters), count))


def generate(
    pairs: int,
    seed: int = 1,
    held_out: int = 1000,
    count: Callable[[int], None] = lambda items: None,
) -> dict[str, list[DrawnWord]]:
    """The splits by name: train, valid and test. `count` is told how many more are drawn."""
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    if pairs > MAX_PAIRS:
        raise ValueError(f"At most {MAX_PAIRS:,} pairs can be generated.")

    def split(number: int, size: int) -> list[DrawnWord]:
        generator = np.random.Generator(np.random.PCG64([seed, number]))
        drawn = []
        for _ in range(size):
            drawn.append(draw_word(generator, draw_text(generator)))
            count(1)
        return drawn

    sizes = {"train": pairs, "valid": held_out, "test": held_out}
    return {name: split(number, size) for number, (name, size) in enumerate(sizes.items())}


PICTURES = "pictures"


def write(corpus: dict[str, list[DrawnWord]], folder: Path) -> None:
    """Write the lines of each split: .source and .target. The pictures of test are files as well,
    with their paths in test.paths, and test.boxes has the box of each letter."""
    files: dict[str, list[str]] = {}
    for split, drawn in corpus.items():
        files[f"{split}.source"] = [each.source for each in drawn]
        files[f"{split}.target"] = [each.word for each in drawn]
    files["test.boxes"] = [each.boxes_text for each in corpus["test"]]
    paths = [f"{PICTURES}/{number:05d}.png" for number in range(1, len(corpus["test"]) + 1)]
    write_files(folder, {**files, "test.paths": paths})
    (folder / PICTURES).mkdir(exist_ok=True)
    for path, each in zip(paths, corpus["test"], strict=True):
        _write_picture(folder / path, each.pixels)


def _write_picture(path: Path, pixels: NDArray[Any]) -> None:
    from PIL import Image

    picture = Image.fromarray(pixels)
    if path.exists():
        if not _same(path, pixels):
            raise UsageError(f"{path} exists with different content: choose another folder.")
        return
    with writing(path) as stream:
        picture.save(stream, format="PNG")


def _same(path: Path, pixels: NDArray[Any]) -> bool:
    from PIL import Image

    try:
        with Image.open(path) as found:
            return np.array_equal(np.asarray(found), pixels)
    except OSError:
        return False
