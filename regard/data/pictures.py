"""Pictures as lines of text: a word for each row with its grey values, or the path of a file."""

from __future__ import annotations

import base64
import os
import re
import struct
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import UsageError

WHITE = 255
MAX_PIXELS = 1_000_000
"""Of a picture file; the size is read from its first bytes, and a larger one is not decoded."""

FORMATS = ("PNG", "PPM")
"""As Pillow calls them; PGM is among PPM."""

_ROWS = re.compile(r"[\d,\s]*", re.ASCII)
_ROW = re.compile(r"\d{1,3}(,\d{1,3})*", re.ASCII)
_DAMAGED = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, OverflowError)
_SHOWN = 60
_TOO_LARGE = f"at most {MAX_PIXELS:,} pixels are read."


@dataclass(frozen=True)
class Picture:
    """Grey values (height, width), 0 is black and 255 white, as a grid of square patches.

    Patches are numbered column by column, from the left and in each column from the top, so that
    what is added at the right comes last.
    """

    pixels: NDArray[np.uint8]
    patch: int

    @staticmethod
    def of_patches(values: NDArray[Any], patch: int, height: int) -> Picture:
        """From what `patches` returns."""
        grid = values.reshape(-1, height // patch, patch, patch)  # columns, rows, ...
        pixels = grid.transpose(1, 2, 0, 3).reshape(height, -1)
        return Picture(pixels.astype(np.uint8), patch)

    def patches(self) -> NDArray[np.float32]:
        """The pixels of each patch, (patches, patch x patch); white fills up the last column."""
        height, width = self.pixels.shape
        filled = np.full((height, -(-width // self.patch) * self.patch), WHITE, np.float32)
        filled[:, :width] = self.pixels
        grid = filled.reshape(height // self.patch, self.patch, -1, self.patch)
        return grid.transpose(2, 0, 1, 3).reshape(-1, self.patch**2)

    def laid_over(self, weights: NDArray[Any]) -> list[tuple[NDArray[np.uint8], NDArray[Any]]]:
        """For each row of weights (T, patches or more): the picture, and the weight (height, width)
        of each of its pixels, which is that of its patch."""
        height, width = self.pixels.shape
        rows, columns = (-(-size // self.patch) for size in (height, width))
        grids = weights[:, : rows * columns].reshape(-1, columns, rows).transpose(0, 2, 1)
        by_pixel = grids.repeat(self.patch, axis=1).repeat(self.patch, axis=2)
        return [(self.pixels, each[:height, :width]) for each in by_pixel]

    def to_json(self) -> dict[str, Any]:
        """For pages."""
        height, width = self.pixels.shape
        pixels = base64.b64encode(self.pixels.tobytes()).decode("ascii")
        return {"height": height, "width": width, "patch": self.patch, "pixels": pixels}

    @property
    def names(self) -> tuple[str, ...]:
        """Row and column of each patch, counted from 1."""
        rows, columns = (-(-size // self.patch) for size in self.pixels.shape)
        return tuple(f"{row + 1}.{column + 1}" for column in range(columns) for row in range(rows))


def is_path(text: str) -> bool:
    """Whether a line names a file; everything but digits, commas and spaces does."""
    return _ROWS.fullmatch(text) is None


def size_of(text: str) -> tuple[int, int]:
    """Height and width of the picture that a line is."""
    rows = text.split()
    return len(rows), rows[0].count(",") + 1 if rows else 0


def parse(text: str) -> NDArray[np.uint8]:
    """The grey values (height, width) of a line that was checked."""
    rows = [list(map(int, row.split(","))) for row in text.split()]
    return np.array(rows, np.uint8)


def to_text(pixels: NDArray[np.uint8]) -> str:
    return " ".join(",".join(map(str, row)) for row in pixels.tolist())


def check_rows(text: str, where: str) -> None:
    """Refuse lines that are not a picture."""
    rows = text.split()
    for number, row in enumerate(rows, 1):
        if _ROW.fullmatch(row) is None or max(map(int, row.split(","))) > WHITE:
            raise UsageError(
                f"{where} has '{row[:20]}' as row {number} of its picture: write grey values from "
                "0 to 255 with commas between them, such as 0,128,255."
            )
        if row.count(",") != rows[0].count(","):
            raise UsageError(
                f"{where} has {row.count(',') + 1} grey values in row {number} of its picture, but "
                f"{rows[0].count(',') + 1} in the first: give as many in each."
            )


def check_height(size: tuple[int, int], height: int, where: str) -> None:
    if size[0] != height:
        raise UsageError(
            f"{where} has a picture of {size[1]:,} by {size[0]:,} pixels, but this model reads "
            f"pictures that are {height} pixels high: scale it to that height."
        )


def read_picture(name: str, folder: Path, height: int, where: str) -> NDArray[np.uint8]:
    """The grey values of a PNG or PGM file, whose path may be relative to a folder or to the
    current one.

    Colours become grey, and what is transparent becomes white.
    """
    from PIL import Image, UnidentifiedImageError

    path = folder / name if os.path.exists(folder / name) else Path(name)  # any length is no error
    shown = str(path)[-_SHOWN:]
    try:
        if not os.path.isfile(path):
            _refuse_numbers(name, where)
            beside = "" if folder == Path() else f"{folder} or to "
            raise UsageError(
                f"{where} names the picture {shown}, which does not exist or is not a file: give "
                f"the path of a PNG or PGM file, relative to {beside}the current folder."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            opened = Image.open(path, formats=FORMATS)
        with opened:
            if opened.mode == "F":  # PFM, whose values are of any range
                raise UnidentifiedImageError
            if opened.width * opened.height > MAX_PIXELS:
                raise UsageError(
                    f"{where} names {shown}, a picture of {opened.width:,} by {opened.height:,} "
                    f"pixels: {_TOO_LARGE}"
                )
            check_height((opened.height, opened.width), height, where)
            return _grey(opened)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise UsageError(f"{where} names {shown}, which is too large: {_TOO_LARGE}") from None
    except UnidentifiedImageError:
        raise UsageError(f"{where} names {shown}, which is not a PNG or PGM file.") from None
    except _DAMAGED as error:
        raise UsageError(f"{where} names {shown}, which is damaged: copy it again.") from error


def _refuse_numbers(name: str, where: str) -> None:
    """What has commas but no letters was meant as grey values, such as those from 0 to 1."""
    if "," in name and not re.search(r"[^\W\d_]", name):
        check_rows(name, where)


def _grey(opened: Any) -> NDArray[np.uint8]:
    from PIL import Image

    if opened.mode.startswith("I"):  # 16 bits, which Pillow would clip at 255
        return (np.asarray(opened).clip(0, 65535) >> 8).astype(np.uint8)
    if opened.has_transparency_data:
        paper = Image.new("RGBA", opened.size, "white")
        opened = Image.alpha_composite(paper, opened.convert("RGBA"))
    return np.asarray(opened.convert("L"))
