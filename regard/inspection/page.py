"""One HTML file that shows what a model did: it needs no network and runs no foreign code."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Optional

import numpy as np

from regard.data.words import RULE, Side
from regard.files import write_text
from regard.inspection.look import Look
from regard.inspection.vectors import Neighbours, PositionTable
from regard.nn.captured import Axes, kind_of
from regard.nn.probe import Axis

STEPS = 10000
"""Weights on the page are multiples of 1 / STEPS; `numbers.js` has the same constant."""

TITLES = {
    "cross": ["target to source", "the target attends …", "… to the source"],
    "copy": ["copied from the source", "the target copies …", "… from the source"],
    "encoder": ["within the source", "the source attends to itself", ""],
    "decoder": ["within the target", "the target attends to what it has read so far", ""],
    "sentences-source": ["sentences to words", "each sentence attends …", "… to its words"],
    "target-sentences": ["label to sentences", "the label attends …", "… to the sentences"],
    "sentences-memory": ["gates of the memory", "each sentence opens …", "… slots of the memory"],
    "target-memory": ["answer to memory", "the answer attends …", "… to the slots"],
    "target-target": ["within the target", "the target attends to itself", ""],
    "reads": ["read heads", "each step reads …", "… slots of the memory"],
    "writes": ["write heads", "each step writes …", "… slots of the memory"],
}
"""Of each kind of attention: its button, and headings for what attends and what is attended to."""

ALONG: dict[Axis, str] = {
    "source": "the source",
    "copied": "the source",
    "target": "the target",
    "read": "the target",
    "steps": "steps, which first read the source and then write the target",
    "memory": "slots of the memory",
    "written": "slots of the memory",
    "sentences": "sentences of the source",
}
"""What the rows or columns of a map are."""

SCRIPTS = (
    "numbers.js",
    "drawing.js",
    "map.js",
    "views.js",
    "picture.js",
    "points.js",
    "heads.js",
    "tree.js",
    "panels.js",
    "editor.js",
    "look.js",
)


def page(
    looks: Sequence[Look],
    title: str = "regard look",
    editable: Optional[Mapping[str, Any]] = None,
) -> str:
    """The whole page as text; with `editable`, one whose server answers what is typed."""
    data = {"title": title, "rule": RULE, "looks": list(map(pack, looks)), "editable": editable}
    return document(title, ("base.css", "look.css"), SCRIPTS, data, live=editable is not None)


def save_page(looks: Sequence[Look], path: Path, title: str = "regard look") -> None:
    write_text(path, page(looks, title))


def frame(html: str) -> str:
    """The page in a sandboxed frame for notebooks: its script cannot reach the notebook."""
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{escape(html)}" title="regard look" '
        'style="width:100%;height:760px;border:0"></iframe>'
    )


def document(
    title: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    data: Any,
    live: bool = False,
) -> str:
    """A page whose content security policy admits only our own styles and scripts, by hash.

    A live page may also ask the server that it came from.
    """
    connect = "'self'" if live else "'none'"
    style = "".join(static(name) for name in styles)
    script = "".join(static(name) for name in scripts)
    policy = (
        f"default-src 'none'; style-src '{content_hash(style)}'; "
        f"script-src '{content_hash(script)}'; "
        f"img-src data:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    return Template(static("look.html")).substitute(
        policy=policy, title=escape(title), style=style, data=as_json(data), script=script
    )


def as_json(data: Any) -> str:
    """JSON that is safe inside an HTML element: no character in it can close the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def static(name: str) -> str:
    """A file that pages are made of."""
    folder = files("regard.inspection").joinpath("static")
    return folder.joinpath(name).read_text(encoding="utf-8")


def content_hash(text: str) -> str:
    """The source expression with which a content security policy admits this text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def pack(look: Look) -> dict[str, Any]:
    """What the scripts read, as plain values."""
    return {
        "text": look.text,
        "title": look.title,
        "picture": None if look.picture is None else look.picture.to_json(),
        "points": look.points,
        "translation": look.translation,
        "given": look.given,
        "prefix": look.prefix,
        "log": round(look.log_probability, 4),
        "sides": {
            "source": _side(look.source, look.source_values),
            "target": _side(look.target),
            "read": None if look.read is None else _side(look.read),
        },
        "attention": {kind: _attention(look, kind) for kind in look.layers.kinds},
        "written": [
            [each.piece, round(each.log_probability, 4), _rounded(each.best, 4), each.word]
            for each in look.written
        ],
        "searchTree": [
            [
                node.parent,
                piece,
                node.step,
                round(node.log_probability, 4),
                node.fate,
                node.rank,
                round(node.score, 4),
            ]
            for node, piece in zip(look.search_tree, look.search_pieces, strict=True)
        ],
        "neighbours": {
            "source": _neighbours(look.source_neighbours),
            "target": _neighbours(look.target_neighbours),
        },
        "positions": None if look.positions is None else _positions(look.positions),
        "heads": {
            "name": str(look.attention_heads),
            "indices": look.attention_heads.indices,
            "moment": look.attention_heads.moment,
        },
    }


def _side(side: Side, values: Optional[Mapping[str, Sequence[int]]] = None) -> dict[str, Any]:
    """Tokens and words, with the sum of what the model found for each, such as its fertility; what
    was found for the words of the text is shown above them."""
    pieces, words, found = list(side.pieces), list(side.words), []
    for each in (values or {}).values():
        by_word = np.bincount(side.word_of, weights=each, minlength=len(words)).astype(int)
        found = [[word, str(value)] for word, value in zip(words, by_word, strict=True)][:-1]
        pieces = [f"{piece} ×{value}" for piece, value in zip(pieces, each, strict=True)]
        words = [f"{word} ×{value}" for word, value in zip(words, by_word, strict=True)]
    return {"pieces": pieces, "words": words, "wordOf": side.word_of, "above": found}


def _attention(look: Look, kind: str) -> dict[str, Any]:
    """All weights in steps of 1 / STEPS: first the low bytes, then the high ones, deflated.

    There are kinds of attention whose weights have any sign and size.
    """
    layers = look.layers.of(kind)
    flat = np.concatenate([layer.reshape(-1) for layer in layers])
    rounded = np.rint(flat.astype(np.float64) * STEPS).clip(-32768, 32767)
    steps = rounded.astype(np.int16).view(np.uint16)
    planes = np.concatenate([steps & 255, steps >> 8]).astype(np.uint8)
    looking, looked_at = look.sides(kind)
    return {
        **described(look.layers.kinds[kind]),
        "sides": [
            _side(side, look.source_values if side is look.source else None)
            for side in (looking, looked_at)
        ],
        "rows": len(looking.ids),
        "columns": len(looked_at.ids),
        "heads": [len(layer) for layer in layers],
        "entropy": [[round(bits, 4) for bits in layer] for layer in look.entropy(kind)],
        "data": base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii"),
    }


def described(axes: Axes) -> dict[str, Any]:
    """What pages say about a kind of attention."""
    kind = kind_of(axes)
    return {
        "kind": kind,
        "axes": axes,
        "titles": TITLES.get(kind, [" to ".join(axes), "", ""]),
        "along": [ALONG[axis] for axis in axes],
    }


def _neighbours(found: Sequence[Neighbours]) -> list[Any]:
    return [[each.piece, _rounded(each.near, 3)] for each in found]


def _rounded(pairs: Sequence[tuple[str, float]], digits: int) -> list[list[Any]]:
    return [[text, round(value, digits)] for text, value in pairs]


def _positions(found: PositionTable) -> dict[str, Any]:
    """Scaled to -1 .. 1, rounded to two digits."""
    table = found.table / max(1e-9, float(np.abs(found.table).max()))
    return {
        "entrance": found.entrance,
        "rows": table.shape[0],
        "columns": table.shape[1],
        "values": [round(float(value), 2) for value in table.reshape(-1)],
    }
