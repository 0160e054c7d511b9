"""The colours of the heads can be told apart, with the common forms of colour blindness too."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

SEEN_BY = {
    "everyone else": np.eye(3),
    "protanopes": np.array(
        [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]]
    ),
    "deuteranopes": np.array(
        [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]
    ),
    "tritanopes": np.array(
        [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]
    ),
}
"""What linear RGB looks like to whom (Machado, Oliveira & Fernandes 2009)."""

TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
WHITE = np.array([0.9505, 1.0, 1.0888])
MIN_DISTANCE = 15.0
"""In CIELAB, where about 2 is just noticeable side by side."""


def palettes() -> list[NDArray[Any]]:
    """The six colours of the light and of the dark theme."""
    text = files("regard.inspection").joinpath("static/base.css").read_text(encoding="utf-8")
    found = re.findall(r"--head-\d: (\d+), (\d+), (\d+);", text)
    assert len(found) == 12
    return [np.array(found[start : start + 6], dtype=float) for start in (0, 6)]


def lab(linear: NDArray[Any]) -> NDArray[Any]:
    ratio = TO_XYZ @ np.clip(linear, 0, 1) / WHITE
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark"])
@pytest.mark.parametrize("who", SEEN_BY)
def test_heads_can_be_told_apart(palette: NDArray[Any], who: str) -> None:
    share = palette / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    seen = [lab(SEEN_BY[who] @ each) for each in linear]
    closest = min(np.linalg.norm(one - other) for one, other in combinations(seen, 2))
    assert closest > MIN_DISTANCE
