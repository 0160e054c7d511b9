"""A page without scripts, in one file or with figures beside it; everything on it is text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from regard.drawing.charts import Chart, draw
from regard.drawing.figure import style, to_svg


def document(title: str, look: str, body: str, kind: str = "") -> str:
    """`body` is HTML of this `kind`, `look` its style sheet; the policy of the page admits this
    style and pictures only."""
    digest = base64.b64encode(hashlib.sha256(look.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src 'self' file: data:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{look}</style></head>"
        f'<body class="{escape(kind)}">{body}</body></html>\n'
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells of plain text."""
    names = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def picture(svg: bytes, description: str) -> str:
    """A figure inside the page; as an image it can run nothing."""
    data = base64.b64encode(svg).decode("ascii")
    return f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(description)}">'


def charts(drawn: Sequence[Chart], description: str) -> str:
    with style():
        return picture(to_svg(draw(drawn)).encode("utf-8"), description)
