"""The page at `/`, and looks inside a sentence, which it opens: one HTML file each."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from importlib.resources import files
from string import Template
from typing import NamedTuple, Optional

from fastapi.responses import HTMLResponse

from regard.errors import UsageError
from regard.inspection.look import look
from regard.inspection.page import content_hash, static
from regard.inspection.page import page as page_of_looks
from regard.serving.batching import Check, Work
from regard.serving.directions import Direction
from regard.serving.fields import Fields
from regard.serving.refusal import RefusedError, invalid
from regard.serving.service import Service
from regard.serving.translating import results

SCRIPTS = ("words.js", "service.js", "history.js", "files.js", "page.js")
_SECURITY = {"Cache-Control": "no-cache", "X-Frame-Options": "DENY"}


def page_response() -> HTMLResponse:
    """The page, whose policy admits its own style and script, by hash, and this server."""
    style = static("base.css") + _static("page.css")
    script = "".join(map(_static, SCRIPTS))
    html = Template(_static("page.html")).substitute(style=style, script=script)
    policy = (
        f"default-src 'none'; style-src '{content_hash(style)}'; "
        f"script-src '{content_hash(script)}'; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    return HTMLResponse(html, headers={**_SECURITY, "Content-Security-Policy": policy})


def _static(name: str) -> str:
    folder = files("regard.serving").joinpath("static")
    return folder.joinpath(name).read_text(encoding="utf-8")


def sorry_response(error: Exception) -> HTMLResponse:
    """Why there is nothing to look at, for a person."""
    style = static("base.css") + "body { padding: 2rem; }"
    status = error.status if isinstance(error, RefusedError) else HTTPStatus.BAD_REQUEST
    html = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>regard</title><style>{style}</style>'
        f"<main><p>{escape(str(error))}</p></main></html>"
    )
    policy = f"default-src 'none'; style-src '{content_hash(style)}'; img-src data:"
    return HTMLResponse(html, status, {**_SECURITY, "Content-Security-Policy": policy})


class Sentence(NamedTuple):
    """What to look at: a sentence with its translation, or what that begins with."""

    text: str
    translation: Optional[str]
    prefix: Optional[str]


class AskedLook(NamedTuple):
    direction: Direction
    sentence: Sentence


@dataclass(frozen=True)
class Looking(Work[Sentence, str]):
    """Looks at sentences one by one, each as a page."""

    direction: Direction

    @property
    def group(self) -> Hashable:
        return (Looking, self.direction.languages)

    def size(self, item: Sentence) -> int:
        return len(item.text)

    def compute(self, items: Sequence[Sentence], check: Check) -> list[str]:
        pages = []
        for text, translation, prefix in items:
            check()
            found = look(self.direction.aligner, text, translation, self.direction.heads, prefix)
            pages.append(page_of_looks([found], f"regard look: {self.direction.name}"))
        return pages


def check_look(service: Service, fields: Fields, client: str) -> AskedLook:
    """What /look is asked: one sentence that its run reads in full."""
    allowed = service.admit(fields, client)
    text, prefix = fields.text("q"), fields.text("prefix", "") or None
    translation = fields.text("translation", "") or None
    most = allowed.characters or service.limits.characters
    for given in (text, prefix or "", translation or ""):
        if len(given) > most:
            raise invalid(f"request ({len(given)}) exceeds text limit ({most})")
    pair = service.pair(fields.text("source"), fields.text("target"), lambda: text)
    direction = pair.direction
    if direction is None:
        raise UsageError("Source and target are the same language: choose another.")
    if not all(map(direction.fits, (text, prefix or "", translation or ""))):
        raise UsageError(
            f"A look shows one sentence of at most {direction.pieces} pieces: shorten it."
        )
    return AskedLook(direction, Sentence(text, translation, prefix))


async def look_response(asked: AskedLook, seconds: float) -> HTMLResponse:
    direction, sentence = asked
    deadline = time.monotonic() + seconds
    futures = direction.queue.submit(Looking(direction), [sentence], deadline)
    (html,) = await results(futures, deadline)
    return HTMLResponse(html, headers=_SECURITY)
