"""`regard watch`: a page about a run, live while it trains or saved afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from regard.files import write_text
from regard.inspection.local_server import Answer, Request, Routes, serve
from regard.inspection.page import as_json, described, document
from regard.metrics.table import higher_is_better
from regard.runs.folder import Run
from regard.runs.snapshot import load_snapshots, snapshot_steps

STYLES = ("base.css", "look.css", "watch.css")
SCRIPTS = (
    "numbers.js",
    "drawing.js",
    "map.js",
    "views.js",
    "picture.js",
    "points.js",
    "charts.js",
    "watch.js",
)

MAX_POINTS = 1000
"""Points per curve; more could not be told apart."""

MAX_SNAPSHOTS = 60
"""Snapshots shown of a long run, evenly spread."""

CURVES = ("loss", "rate", "tokens_per_second", "time")
"""What is read from the records of training steps, where they have it."""

Records = Sequence[dict[str, Any]]
Table = dict[str, list[Any]]
"""Columns of numbers, or None where a record lacks one."""


def run_data(run: Run, since: int = -1) -> dict[str, Any]:
    """Curves of a run as they are now, and its snapshots after step `since`."""
    known = version(run)  # read first, so that whatever arrives meanwhile is fetched next time
    records = list(run.journal)
    validations = [r for r in records if r["event"] == "validation"]
    trained = [r for r in records if r["event"] == "train"]
    names = [n for n in (validations[0] if validations else {}) if n not in ("event", "step")]
    steps = [step for step in _spread(snapshot_steps(run)) if step > since]
    return {
        "title": f"regard watch: {run.path.name}",
        "kind": run.config.model.kind,
        "steps": run.steps,
        "step": max((r["step"] for r in records), default=0),
        "version": known,
        "training": _table(_thinned(trained), CURVES),
        "validation": _table(validations, names),
        "metric": run.config.metric,
        "higher": higher_is_better(run.config.metric),
        "snapshots": [
            _described(each)
            for each in load_snapshots(run, steps)
            if isinstance(each.get("sentences"), list)
        ],
    }


def _described(snapshot: dict[str, Any]) -> dict[str, Any]:
    """A snapshot with what pages say about each kind of attention in it."""
    sentences = [
        {
            **sentence,
            "attention": [
                {**kind, **described((kind["axes"][0], kind["axes"][1]))}
                for kind in sentence["attention"]
            ],
        }
        for sentence in snapshot["sentences"]
    ]
    return {**snapshot, "sentences": sentences}


def version(run: Run) -> str:
    """Changes whenever there is something new to show."""
    try:
        journal = run.journal.path.stat()
    except OSError:
        return "nothing yet"
    return f"{journal.st_size}-{journal.st_mtime_ns}-{len(snapshot_steps(run))}"


def _spread(steps: list[int]) -> list[int]:
    """At most MAX_SNAPSHOTS of them, evenly spread, including the first and the last."""
    if len(steps) <= MAX_SNAPSHOTS:
        return steps
    last = MAX_SNAPSHOTS - 1
    return [steps[round(index * (len(steps) - 1) / last)] for index in range(MAX_SNAPSHOTS)]


def _table(records: Records, names: Sequence[str]) -> Table:
    """The columns of these names in which there is a number."""
    found = {name: [_number(record.get(name)) for record in records] for name in names}
    filled = {name: column for name, column in found.items() if any(v is not None for v in column)}
    return {"step": [record["step"] for record in records], **filled}


def _number(value: Any) -> Any:
    usable = isinstance(value, (int, float)) and abs(value) < float("inf")
    return value if usable else None


def _thinned(records: Records) -> Records:
    """At most about MAX_POINTS of them, the last included."""
    every = -(-len(records) // MAX_POINTS) or 1
    return list(reversed(list(reversed(records))[::every]))


def watch_page(run: Run, live: bool) -> str:
    """The page as of now; a live one polls its server for updates."""
    data = {**run_data(run), "live": live}
    return document(str(data["title"]), STYLES, SCRIPTS, data, live)


def save_watch_page(run: Run, path: Path) -> None:
    _check(run)
    write_text(path, watch_page(run, live=False))


def _check(run: Run) -> None:
    run.check_trained_here("there are no curves or snapshots to show; see 'regard info'")


def routes(run: Run) -> Routes:
    """The page, and what is new for a page that has some of it."""

    def page(request: Request) -> Answer:
        return Answer(watch_page(run, live=True), "text/html")

    def data(request: Request) -> Answer:
        if request.query.get("known") == version(run):
            return Answer("", "application/json", HTTPStatus.NO_CONTENT)
        since = request.query.get("since", "")
        new = run_data(run, int(since) if since.isascii() and since.isdigit() else -1)
        return Answer(as_json({**new, "live": True}), "application/json")

    return {"GET /": page, "GET /data": data}


def serve_watch(run: Run, port: int, show: bool, say: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C."""
    _check(run)
    serve(routes(run), port, f"Watching {run.path}", show, say)
