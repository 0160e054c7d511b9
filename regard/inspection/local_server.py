"""A small web server for pages on this machine: `regard watch` and `regard look --serve`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from regard.errors import RegardError, UsageError

ADDRESS = "127.0.0.1"
MAX_REQUESTS = 8
"""Requests answered at once; further ones wait up to a second and are then told to retry."""

MAX_BODY = 64_000
"""Bytes of a request."""

MAX_WAIT = 30.0
"""Seconds that a request waits for the computation before it."""

CONNECTION_TIMEOUT = 10.0
"""Seconds before a silent connection is closed."""


class Answer(NamedTuple):
    """The response."""

    text: str
    kind: str = "text/plain"
    status: HTTPStatus = HTTPStatus.OK


class Request(NamedTuple):
    """The request: the query of a GET, the JSON value of a POST."""

    query: Mapping[str, str]
    body: Any


Routes = Mapping[str, Callable[[Request], Answer]]
"""The handler of each request, such as "GET /data"."""


class _RefusedError(Exception):
    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class Newest:
    """One computation at a time; of the requests that wait for it, only the newest is kept."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._newest = 0
        self._running = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until nothing else is computed; a newer request takes the place of this one."""
        with self._changed:
            self._newest += 1
            mine = self._newest
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._running or mine != self._newest, MAX_WAIT)
            if self._running or mine != self._newest:
                raise _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "Busy: try again.")
            self._running = True
        try:
            yield
        finally:
            with self._changed:
                self._running = False
                self._changed.notify_all()


def own_names(port: int) -> list[str]:
    """Host headers we accept; browsers leave out port 80."""
    names = [ADDRESS, "localhost"]
    return [f"{name}:{port}" for name in names] + (names if port == 80 else [])


class LocalServer(ThreadingHTTPServer):
    """Answers some routes, to this machine only; `serve_forever` starts it."""

    daemon_threads = True
    request_queue_size = 16

    def __init__(self, routes: Routes, port: int) -> None:
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            reason = error.strerror or error
            raise RegardError(
                f"Cannot listen on port {port} ({reason}): give another --port."
            ) from None
        self.routes = routes
        self.slots = threading.BoundedSemaphore(MAX_REQUESTS)

    @property
    def address(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore browsers that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    server_version = "regard"
    sys_version = ""
    timeout = CONNECTION_TIMEOUT

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def _respond(self) -> None:
        if not self.server.slots.acquire(timeout=1.0):
            self._send(Answer("Busy: try again.", status=HTTPStatus.SERVICE_UNAVAILABLE))
            return
        try:
            self._send(self._answer())
        finally:
            self.server.slots.release()

    def _answer(self) -> Answer:
        try:
            self._check_caller()
            path, request = self._read()
            route = self.server.routes.get(f"{self.command} {path}")
            if route is None:
                raise _RefusedError(HTTPStatus.NOT_FOUND, "There is no such page.")
            return route(request)
        except _RefusedError as refused:
            return Answer(str(refused), status=refused.status)
        except UsageError as error:
            return Answer(str(error), status=HTTPStatus.BAD_REQUEST)
        except Exception as error:  # such as a corrupt file: report it where the person is looking
            return Answer(str(error), status=HTTPStatus.INTERNAL_SERVER_ERROR)

    def _check_caller(self) -> None:
        """Refuse other host names, which a foreign page could use to read ours (DNS rebinding),
        and what foreign pages send to us."""
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        if host not in own_names(self.server.server_port) or origin not in (None, f"http://{host}"):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "Unknown host.")

    def _read(self) -> tuple[str, Request]:
        try:
            asked = urlsplit(self.path)
        except ValueError:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "Malformed address.") from None
        body = self._body() if self.command == "POST" else None
        return asked.path, Request(dict(parse_qsl(asked.query)), body)

    def _body(self) -> Any:
        """The JSON value that was sent. Foreign pages cannot send this type without asking."""
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send JSON.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "Send the length of the request.")
        if int(length) > MAX_BODY:
            self.rfile.read(min(int(length), 8 * MAX_BODY))  # so that the answer can be read
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too long.")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "The request is not JSON.") from None

    def _send(self, answer: Answer) -> None:
        body = answer.text.encode("utf-8", errors="replace")
        self.send_response(answer.status)
        self.send_header("Content-Type", f"{answer.kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the terminal quiet."""


def serve(routes: Routes, port: int, about: str, show: bool, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C, and open the page in the browser if asked."""
    server = LocalServer(routes, port)
    say(f"{about} at {server.address} until Ctrl-C.")
    if show:
        import webbrowser

        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
