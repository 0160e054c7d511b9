"""A server of pages in a thread, and a client that sends what it is told to."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Optional

from regard.inspection.local_server import LocalServer, Routes


@contextmanager
def serving(routes: Routes) -> Iterator[int]:
    """The port at which the routes are answered."""
    server = LocalServer(routes, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(
    port: int,
    path: str,
    method: str = "GET",
    headers: Optional[Mapping[str, str]] = None,
    body: Optional[bytes] = None,
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, headers=dict(headers or {}))
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def post(port: int, path: str, value: Any, **headers: str) -> tuple[int, bytes]:
    """JSON, as the page sends it."""
    sent = {"Content-Type": "application/json", **headers}
    return ask(port, path, "POST", sent, json.dumps(value).encode())
