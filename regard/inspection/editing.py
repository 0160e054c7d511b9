"""`regard look --serve`: a page on which source and target can be edited, and the model follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regard.data.annotation import Annotation
from regard.data.line import Line
from regard.errors import UsageError
from regard.inspection.local_server import Answer, Newest, Request, Routes, serve
from regard.inspection.look import Look, look
from regard.inspection.page import as_json, pack, page
from regard.predict import Predictor

MAX_TEXT = 2000
"""Characters of each text that can be typed, so that an answer never takes long."""

MAX_NUMBERS = 20_000
"""The same where the source is numbers, such as a picture, of which a word has many."""


def routes(
    predictor: Predictor, lines: Sequence[Line], looks: Sequence[Look], title: str
) -> Routes:
    """The page with looks at some lines, and a new look at each text that is typed."""
    heads = looks[0].attention_heads if looks[0].layers.cross else None
    newest = Newest()

    def show(request: Request) -> Answer:
        return Answer(page(looks, title, _editable(predictor, lines)), "text/html")

    def follow(request: Request) -> Answer:
        line, forced = _line(predictor, request.body), _text(request.body, "forced")
        how = _text(request.body, "how")
        with newest.turn():
            found = look(
                predictor,
                line,
                target=forced if how == "whole" else None,
                attention_heads=heads,
                prefix=forced if how == "beginning" else None,
            )
        return Answer(as_json(pack(found)), "application/json")

    return {"GET /": show, "POST /look": follow}


def serve_looks(
    predictor: Predictor,
    lines: Sequence[Line],
    looks: Sequence[Look],
    title: str,
    port: int,
    show: bool,
    say: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl-C."""
    serve(routes(predictor, lines, looks, title), port, "Edit the sentence", show, say)


def _editable(predictor: Predictor, lines: Sequence[Line]) -> dict[str, Any]:
    """What the editor needs to know about the model, and the annotations of the lines."""
    return {
        "longest": _longest(predictor),
        "readsSource": predictor.model.reads_source,
        "annotations": [
            [
                kind.name,
                kind.description,
                [kind.write(line) for line in lines],
            ]
            for kind in _typed(predictor)
        ],
    }


def _line(predictor: Predictor, body: Any) -> Line:
    """The source with its annotations, which are typed as in their files."""
    text = _text(body, "text", _longest(predictor))
    line = Line(text)
    for kind in _typed(predictor):
        line = kind.read(line, _text(body, kind.name), f"The {kind.name}")
    return line


def _typed(predictor: Predictor) -> list[Annotation]:
    """The annotations that do not follow from the text, nor from the target."""
    return [kind for kind in predictor.annotations if kind.option and not kind.reads_target]


def _longest(predictor: Predictor) -> int:
    return MAX_NUMBERS if any(kind.replaces_ids for kind in predictor.annotations) else MAX_TEXT


def _text(body: Any, name: str, longest: int = MAX_TEXT) -> str:
    value = body.get(name, "") if isinstance(body, Mapping) else None
    if not isinstance(value, str):
        raise UsageError(f"Send '{name}' as text.")
    if len(value) > longest:
        raise UsageError(f"At most {longest:,} characters can be edited: shorten the text.")
    return value
