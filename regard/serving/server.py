"""Listening and stopping: slow clients are cut off, and a signal loses no accepted request."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Optional, Union

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.config import override
from regard.errors import RegardError
from regard.serving.app import build_app
from regard.serving.directions import Say, load_directions
from regard.serving.guard import Phase
from regard.serving.limits import Limits
from regard.serving.metering import Meters
from regard.serving.rates import Keys
from regard.serving.service import Service

MAX_HEADERS = 1_000_000
"""Bytes of a request line and its headers: some clients send a whole text in the query."""

GRACE = 0.3
"""Seconds that a silent connection has left when the server stops: its request may be under way."""


def serve(
    runs: Sequence[Union[str, Path]],
    host: str = "127.0.0.1",
    port: int = 5000,
    limits: Sequence[str] = (),
    beam: Optional[int] = None,
    api_keys: Optional[Path] = None,
    api_key_required: bool = False,
    metrics_token: Optional[str] = None,
    behind_proxy: bool = False,
    say: Say = print,
) -> None:
    """Serve runs until a signal comes: SIGTERM and Ctrl-C finish what was accepted."""
    bounds = override(Limits(), limits)
    keys = None if api_keys is None else Keys(api_keys)
    listening = listen(host, port)
    meters = Meters()
    directions = load_directions(list(map(str, runs)), bounds, beam, say, meters.batches.observe)
    service = Service(directions, bounds, keys, api_key_required, meters)
    server = Server(build_app(service, metrics_token), service, behind_proxy)
    shown = f"[{host}]" if ":" in host else host
    say(f"Listening at http://{shown}:{listening.getsockname()[1]}/ until Ctrl-C.")
    server.run(sockets=[listening])
    say("Stopped.")


def listen(host: str, port: int) -> socket.socket:
    """A bound socket: what is wrong with an address is found before anything is loaded."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = error.strerror or error
        raise RegardError(
            f"Cannot listen on {host} port {port} ({reason}): give another --host or --port."
        ) from None


class Server(uvicorn.Server):
    """A server that, told to stop, first says so for a while, then finishes what it has."""

    def __init__(self, app: ASGIApp, service: Service, behind_proxy: bool = False) -> None:
        limits = service.limits
        super().__init__(
            uvicorn.Config(
                app,
                http=_protocol(limits),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=behind_proxy,
                forwarded_allow_ips="127.0.0.1,::1" if behind_proxy else "",
                limit_concurrency=limits.connections,
                timeout_keep_alive=limits.keep_alive_seconds,  # type: ignore[arg-type]
                timeout_graceful_shutdown=int(limits.deadline) + 1,
                h11_max_incomplete_event_size=MAX_HEADERS,
            )
        )
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self._phase: Phase = service.phase
        self._drain = limits.drain
        self._stop_at: Optional[float] = None

    def handle_exit(self, sig: int, frame: Optional[FrameType]) -> None:
        """The first signal begins to stop the server, the second one ends it at once."""
        if self._stop_at is not None:
            self.should_exit = self.force_exit = True
            return
        self.stop()

    def stop(self) -> None:
        """Say that the server is stopping; it takes new requests for a moment longer, until those
        who send them have noticed."""
        self._phase.stopping = True
        self._stop_at = time.monotonic() + self._drain

    async def on_tick(self, counter: int) -> bool:
        if self._stop_at is not None and time.monotonic() >= self._stop_at:
            return True
        return await super().on_tick(counter)


class Impatient(H11Protocol):
    """uvicorn's protocol, with a limit on the time for headers, and with a last chance for requests
    that are under way when the server stops."""

    header_seconds: float
    _timer: Optional[asyncio.TimerHandle] = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_headers()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._stop_timer()  # an idle connection has its own time
        if self.conn.trailing_data[0]:
            self._await_headers()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if self._is_answering:
            super().shutdown()
        else:
            self.loop.call_later(GRACE, self._leave)

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_headers(self) -> None:
        """Run the timer exactly while the beginning of a request has arrived, but not all of
        its headers."""
        if self._is_answering:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if not self._is_answering and not self.transport.is_closing():
            self.transport.close()

    def _leave(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()


def _protocol(limits: Limits) -> type[asyncio.Protocol]:
    """The protocol with these limits; uvicorn takes a class and makes its own objects."""

    class Limited(Impatient):
        header_seconds = limits.header_seconds

    return Limited
