"""Servers that run in a thread, and what one can ask them."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Optional

from regard.interop.engine import Engine
from regard.serving.app import build_app
from regard.serving.directions import load_directions
from regard.serving.limits import Limits
from regard.serving.metering import Meters
from regard.serving.rates import Keys
from regard.serving.server import Server, listen
from regard.serving.service import Service


class Answer(NamedTuple):
    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """A server and what one can ask it."""

    def __init__(self, address: str, service: Service, server: Server) -> None:
        self.address, self.service, self.server = address, service, server

    @property
    def port(self) -> int:
        return int(self.address.rsplit(":", 1)[1])

    def ask(self, method: str, path: str, body: Optional[bytes] = None, **headers: str) -> Answer:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.address + path, body, names, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as found:
                return Answer(found.status, found.headers, found.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.headers, error.read())

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, value: Any) -> Answer:
        return self.ask("POST", path, json.dumps(value).encode(), content_type="application/json")

    def form(self, path: str, **fields: Any) -> Answer:
        body = urllib.parse.urlencode(fields).encode()
        return self.ask("POST", path, body, content_type="application/x-www-form-urlencoded")

    def translate(self, q: Any, **fields: Any) -> Answer:
        return self.post("/translate", {"q": q, "source": "en", "target": "de", **fields})


@contextmanager
def serving(
    runs: list[str],
    keys: Optional[Path] = None,
    required: bool = False,
    engine: Engine = "torch",
    behind_proxy: bool = False,
    metrics_token: Optional[str] = None,
    **limits: Any,
) -> Iterator[Client]:
    bounds, meters = Limits(**{"requests": 1_000_000, "drain": 0.0, **limits}), Meters()
    given = bounds, None, lambda text: None, meters.batches.observe, engine
    directions = load_directions(runs, *given)
    known = None if keys is None else Keys(keys)
    service = Service(directions, bounds, known, required, meters)
    listening = listen("127.0.0.1", 0)
    server = Server(build_app(service, metrics_token), service, behind_proxy)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        yield Client(address, service, server)
    finally:
        server.stop()
        thread.join()


Serve = Callable[..., Client]
