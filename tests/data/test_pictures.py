"""Pictures as lines of text, and those in files: whatever is wrong is said with file and line."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data.annotations import Pixels, load
from regard.data.batch import Row
from regard.data.corpus import Task, read_lines
from regard.data.encoding import LineEncoder
from regard.data.line import Line
from regard.data.parallel import Parallel
from regard.data.pictures import MAX_PIXELS, Picture, is_path, parse, to_text
from regard.data.tokenizer import NumberWords
from regard.errors import UsageError

SMALL = Pixels(height=4, patch=2)
PIXELS = np.arange(4 * 5, dtype=np.uint8).reshape(4, 5) * 10
TEXT = "0,10,20,30,40 50,60,70,80,90 100,110,120,130,140 150,160,170,180,190"


def encoded(text: str) -> Row:
    (row,) = LineEncoder(NumberWords(), (SMALL,)).encode([Line(text)])
    return row


def test_text_and_pixels_are_the_same_picture() -> None:
    assert to_text(PIXELS) == TEXT
    assert np.array_equal(parse(TEXT), PIXELS)
    assert not is_path(TEXT)
    assert is_path("word.png")
    assert is_path("./12")


def test_patches_are_numbered_by_column_and_filled_up_with_white() -> None:
    row = encoded(TEXT)
    values = row.annotations["pixels"]
    assert len(row) == len(values) == 3 * 2  # three columns of two patches
    assert len(set(row.ids)) == 1
    assert values[0].tolist() == [0, 10, 50, 60]
    assert values[1].tolist() == [100, 110, 150, 160]
    assert values[2].tolist() == [20, 30, 70, 80]
    assert values[4].tolist() == [40, 255, 90, 255]
    picture = SMALL.picture(values)
    assert picture is not None
    assert np.array_equal(picture.pixels[:, :5], PIXELS)
    assert (picture.pixels[:, 5] == 255).all()
    assert picture.names == ("1.1", "2.1", "1.2", "2.2", "1.3", "2.3")


def test_weights_are_laid_over_the_pixels_of_their_patches() -> None:
    weights = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9]])  # the last is of no patch
    ((pixels, over),) = Picture(PIXELS, 2).laid_over(weights)
    assert np.array_equal(pixels, PIXELS)
    assert over.shape == PIXELS.shape
    assert (over[:2, :2] == 0.1).all()
    assert (over[2:, :2] == 0.2).all()
    assert (over[2:, 4:] == 0.6).all()


def test_an_empty_line_is_no_picture() -> None:
    row = encoded("")
    assert row.ids == []
    assert row.annotations["pixels"].shape == (0, 4)
    SMALL.check(Line(""), "here")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1,2 3,256 1,1 1,1", r"here has '3,256' as row 2 .* from 0 to 255"),
        ("1,2 3,,4 1,1 1,1", r"here has '3,,4' as row 2"),
        ("1,2 3 1,1 1,1", r"here has 1 grey values in row 2 .* but 2 in the first"),
        ("1,2 3,4 5,6", r"here has a picture of 2 by 3 pixels, but .* are 4 pixels high"),
    ],
)
def test_numbers_that_are_no_picture_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        SMALL.check(Line(text), "here")


def saved(path: Path, mode: str) -> Path:
    """The picture in a file, with the same grey values in any mode."""
    picture = Image.fromarray(PIXELS)
    if mode == "I;16":
        picture = Image.fromarray((PIXELS.astype(np.uint16) << 8) + 99)
    elif mode == "RGBA":
        picture = picture.convert("RGBA")
        picture.putpixel((0, 0), (0, 0, 0, 0))  # transparent
    elif mode != "L":
        picture = picture.convert(mode)
    picture.save(path)
    return path


@pytest.mark.parametrize(
    ("name", "mode"),
    [("a.png", "L"), ("a.png", "RGB"), ("a.pgm", "L"), ("a.png", "I;16"), ("a b.png", "P")],
)
def test_files_are_read_as_grey(tmp_path: Path, name: str, mode: str) -> None:
    saved(tmp_path / name, mode)
    line = SMALL.load(Line(name), tmp_path, "here")
    assert line.text == TEXT


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    saved(tmp_path / "a.png", "RGBA")
    assert SMALL.load(Line("a.png"), tmp_path, "here").text == f"255{TEXT[1:]}"


def chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def png_header(width: int, height: int) -> bytes:
    size = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size)


def broken(path: Path) -> None:
    stream = io.BytesIO()
    Image.effect_noise((900, 4), 50).save(stream, "png")
    path.write_bytes(stream.getvalue()[:1500])


def test_files_that_are_no_picture_are_refused_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("this is text\n")
    (tmp_path / "folder.png").mkdir()
    for name, size in (
        ("bomb.png", (2**20, 2**20)),
        ("large.png", (10_000, 10_000)),
        ("wide.png", (MAX_PIXELS, 4)),
    ):
        (tmp_path / name).write_bytes(
            png_header(*size) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")
        )
    (tmp_path / "a.pfm").write_bytes(b"Pf\n5 4\n-1.0\n" + bytes(4 * 5 * 4))
    Image.fromarray(PIXELS[:3]).save(tmp_path / "low.png")
    Image.fromarray(PIXELS).save(tmp_path / "a.jpg")
    broken(tmp_path / "broken.png")
    (tmp_path / "words").write_text("X\nY\n")
    saved(tmp_path / "good.png", "L")
    for name, sentence in (
        ("missing.png", "missing.png, which does not exist or is not a file"),
        ("0.5 " * 100, "which does not exist or is not a file"),  # longer than a name may be
        ("folder.png", "which does not exist or is not a file"),
        ("text.png", "which is not a PNG or PGM file"),
        ("a.jpg", "which is not a PNG or PGM file"),
        ("broken.png", "which is damaged"),
        ("a.pfm", "which is not a PNG or PGM file"),
        ("bomb.png", "which is too large: at most 1,000,000 pixels are read"),
        ("large.png", "which is too large: at most 1,000,000 pixels are read"),
        ("wide.png", "at most 1,000,000 pixels are read"),
        ("low.png", "has a picture of 5 by 3 pixels"),
        ("0.5,1 0.2,0", "has '0.5,1' as row 1 of its picture: write grey values from 0 to 255"),
    ):
        (tmp_path / "list").write_text(f"good.png\n{name}\n")
        pairs = Parallel(tmp_path / "list", tmp_path / "words").open(task=Task((SMALL,)))
        with pytest.raises(UsageError, match=sentence) as found:
            list(pairs)
        assert str(found.value).startswith(f"{tmp_path / 'list'}:2 ")


def test_paths_are_relative_to_the_list_or_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("lists", "current"):
        (tmp_path / folder).mkdir()
    saved(tmp_path / "lists" / "beside.png", "L")
    saved(tmp_path / "current" / "here.png", "L")
    monkeypatch.chdir(tmp_path / "current")
    listed = tmp_path / "lists" / "list"
    listed.write_text(f"beside.png\nhere.png\n\n{tmp_path / 'current' / 'here.png'}\n")
    texts = [line.text for line in read_lines(listed, {}, (SMALL,))]
    assert texts == [TEXT, TEXT, "", TEXT]
    assert load(Line("here.png"), (SMALL,), Path(), "Line 1").text == TEXT
    with pytest.raises(UsageError, match="Line 1 names the picture beside"):
        load(Line("beside.png"), (SMALL,), Path(), "Line 1")
