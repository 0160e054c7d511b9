"""Listening and stopping: slow clients are cut off, and a signal loses no accepted request."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Optional, Union

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.config import override
from regard.errors import RegardError, UsageError
from regard.interop.engine import Engine
from regard.serving.app import build_app
from regard.serving.directions import Say, check_runs, load_directions
from regard.serving.guard import CORS, Phase, refusal_response
from regard.serving.limits import Limits
from regard.serving.metering import Meters
from regard.serving.rates import Keys
from regard.serving.refusal import busy
from regard.serving.service import Service

MAX_HEADERS = 1_000_000
"""Bytes of a request line and its headers: some clients send a whole text in the query."""

GRACE = 0.3
"""Seconds that a silent connection has left when the server stops: its request may be under way."""

OWN_DESCRIPTORS = 500
"""Open files of the server itself, and connections that are being refused."""

SAME_SIGNAL = 0.5
"""Seconds in which a second signal means the first: some programs signal a whole process group."""


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
    engine: Engine = "torch",
    int8: bool = False,
    say: Say = print,
) -> None:
    """Serve runs until a signal comes: SIGTERM and Ctrl-C finish what was accepted."""
    bounds = override(Limits(), limits)
    keys = None if api_keys is None else Keys(api_keys)
    names, meters = list(map(str, runs)), Meters()
    check_runs(names, engine)
    _allow_descriptors(bounds.connections + bounds.files + OWN_DESCRIPTORS)
    with listen(host, port) as listening:
        given = bounds, beam, say, meters.batches.observe, engine, int8
        service = Service(load_directions(names, *given), bounds, keys, api_key_required, meters)
        shown = f"[{host}]" if ":" in host else host
        sentence = f"Listening at http://{shown}:{listening.getsockname()[1]}/ until Ctrl-C."
        app = build_app(service, metrics_token)
        server = Server(app, service, behind_proxy, started=lambda: say(sentence))
        server.run(sockets=[listening])
    say("Stopped.")


def _allow_descriptors(count: int) -> None:
    """Let this process open so many files and connections, if the system permits it."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if most == resource.RLIM_INFINITY else min(count, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, made before anything is loaded: a wrong address is found at once, and
    clients that come while runs are loaded wait.

    Small packets are sent at once. asyncio sees to that only for sockets that name their protocol,
    which those of `socket.create_server` do not."""
    family = _family(host, port)
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise _wrong_host(host) from None
        reason = os.strerror(error.errno) if error.errno else error
        raise RegardError(
            f"Cannot listen on {host} port {port} ({reason}): give another --host or --port."
        ) from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _family(host: str, port: int) -> int:
    """Whether an address is one of IPv4 or IPv6."""
    if not 0 <= port <= 65535:
        raise UsageError(f"--port cannot be {port}: give a number from 0 to 65535.")
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except (OSError, ValueError):  # a name that does not exist, or that no host can have
        raise _wrong_host(host) from None


def _wrong_host(host: str) -> UsageError:
    return UsageError(
        f"--host cannot be '{host}': give an address of this machine, such as 127.0.0.1, "
        "or 0.0.0.0 for all of them."
    )


class Server(uvicorn.Server):
    """A server that, told to stop, first says so for a while, then finishes what it has."""

    def __init__(
        self,
        app: ASGIApp,
        service: Service,
        behind_proxy: bool = False,
        started: Callable[[], None] = lambda: None,
    ) -> None:
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
                timeout_keep_alive=limits.keep_alive_seconds,  # type: ignore[arg-type]
                timeout_graceful_shutdown=int(limits.deadline) + 1,
                h11_max_incomplete_event_size=MAX_HEADERS,
            )
        )
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self._started = started  # told when signals are heard and requests answered
        self._phase: Phase = service.phase
        self._drain = limits.drain
        self._stop_at: Optional[float] = None
        self._signalled_at = float("inf")

    async def startup(self, sockets: Optional[list[socket.socket]] = None) -> None:
        await super().startup(sockets)
        self._started()

    def handle_exit(self, sig: int, frame: Optional[FrameType]) -> None:
        """The first signal begins to stop the server, a later one ends it at once."""
        if self._stop_at is None:
            self._signalled_at = time.monotonic()
            self.stop()
        elif time.monotonic() > self._signalled_at + SAME_SIGNAL:
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # of what is cancelled
            self.should_exit = self.force_exit = True

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
    that are under way when the server stops. What comes on a connection beyond the limit is refused
    like any other request; uvicorn's own limit would refuse those on the other connections too."""

    header_seconds: float
    max_connections: int
    _timer: Optional[asyncio.TimerHandle] = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            self.app = _refuse
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
        max_connections = limits.connections

    return Limited


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """What answers on a connection that is one too many."""
    response = refusal_response(busy())
    response.headers.update({**CORS, "Connection": "close"})
    await response(scope, receive, send)
