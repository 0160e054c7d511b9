"""`regard watch`: a page about a run, live while it trains or saved afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Optional
from urllib.parse import parse_qs, urlsplit

from regard.errors import RegardError
from regard.files import write_text
from regard.inspection.page import as_json, document
from regard.runs.folder import Run
from regard.runs.snapshot import load_snapshots, snapshot_steps

SCRIPTS = ("drawing.js", "watch.js")
ADDRESS = "127.0.0.1"
MAX_REQUESTS = 8
"""Requests answered at once; further ones wait up to a second and are then told to retry."""

MAX_POINTS = 1000
"""Points per curve; more could not be told apart."""

MAX_SNAPSHOTS = 60
"""Snapshots shown of a long run, evenly spread."""

CONNECTION_TIMEOUT = 10.0
"""Seconds before a silent connection is closed."""


def run_data(run: Run) -> dict[str, Any]:
    """Curves and snapshots of a run as they are now."""
    known = version(run)  # read first, so that whatever arrives meanwhile is fetched next time
    records = list(run.journal)
    validations = [r for r in records if r["event"] == "validation"]
    trained = [r for r in records if r["event"] == "train"]
    names = [n for n in (validations[0] if validations else {}) if n not in ("event", "step")]
    newest = max((r["step"] for r in records), default=0)
    return {
        "title": f"regard watch: {run.path.name}",
        "kind": run.config.model.kind,
        "steps": run.steps,
        "step": newest,
        "version": known,
        "training": _thinned([[r["step"], r["loss"]] for r in trained if _number(r.get("loss"))]),
        "validation": {
            name: [[r["step"], r[name]] for r in validations if _number(r.get(name))]
            for name in names
        },
        "snapshots": [
            each
            for each in load_snapshots(run, _spread(snapshot_steps(run)))
            if isinstance(each.get("sentences"), list)
        ],
    }


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


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < float("inf")


def _thinned(points: list[list[float]]) -> list[list[float]]:
    every = -(-len(points) // MAX_POINTS) or 1
    return points[::every]


def watch_page(run: Run, live: bool) -> str:
    """The page as of now; a live one polls its server for updates."""
    data = {**run_data(run), "live": live}
    connect = "'self'" if live else "'none'"
    return document(str(data["title"]), ("look.css", "watch.css"), SCRIPTS, data, connect)


def save_watch_page(run: Run, path: Path) -> None:
    write_text(path, watch_page(run, live=False))


def own_names(port: int) -> list[str]:
    """Host headers we accept; browsers leave out port 80."""
    names = [ADDRESS, "localhost"]
    return [f"{name}:{port}" for name in names] + (names if port == 80 else [])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 16

    def __init__(self, run: Run, port: int) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.run = run
        self.slots = threading.BoundedSemaphore(MAX_REQUESTS)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore browsers that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    """Serves the page and its updates, to this machine only."""

    server: _Server
    server_version = "regard"
    sys_version = ""
    timeout = CONNECTION_TIMEOUT

    def do_GET(self) -> None:
        if not self.server.slots.acquire(timeout=1.0):
            return self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", "Busy: try again.")
        try:
            return self._answer(*self._found())
        finally:
            self.server.slots.release()

    def _found(self) -> tuple[HTTPStatus, str, str]:
        # refuse other host names, which a foreign page could use to read ours (DNS rebinding)
        if self.headers.get("Host") not in own_names(self.server.server_port):
            return HTTPStatus.FORBIDDEN, "text/plain", "Unknown host."
        try:
            asked = urlsplit(self.path)
        except ValueError:
            return HTTPStatus.BAD_REQUEST, "text/plain", "Malformed address."
        try:
            return self._about(asked.path, parse_qs(asked.query).get("known"))
        except Exception as error:  # such as a corrupt file: report it where the person is looking
            return HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", str(error)

    def _about(self, path: str, known: Optional[list[str]]) -> tuple[HTTPStatus, str, str]:
        run = self.server.run
        if path == "/":
            return HTTPStatus.OK, "text/html", watch_page(run, live=True)
        if path != "/data":
            return HTTPStatus.NOT_FOUND, "text/plain", "Only / and /data exist."
        if known == [version(run)]:
            return HTTPStatus.NO_CONTENT, "application/json", ""
        return HTTPStatus.OK, "application/json", as_json({**run_data(run), "live": True})

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the terminal quiet."""


def start(run: Run, port: int) -> _Server:
    """A server bound to its port; `serve_forever` starts answering."""
    try:
        return _Server(run, port)
    except OSError as error:
        reason = error.strerror or error
        raise RegardError(
            f"Cannot listen on port {port} ({reason}): give another --port."
        ) from None


def serve(run: Run, port: int, show: bool, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C."""
    server = start(run, port)
    address = f"http://{ADDRESS}:{server.server_address[1]}/"
    say(f"Watching {run.path} at {address} until Ctrl-C.")
    if show:
        import webbrowser

        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
