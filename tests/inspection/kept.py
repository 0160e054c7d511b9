"""The attention that a snapshot keeps, unpacked."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def kept_weights(kind: dict[str, Any]) -> NDArray[np.float64]:
    """(layers, rows, columns) of one kind of attention."""
    roots = np.frombuffer(zlib.decompress(base64.b64decode(kind["weights"])), np.uint8) / 255
    return (roots**2).reshape(kind["layers"], len(kind["rows"]), len(kind["columns"]))
