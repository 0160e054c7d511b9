"""What every request passes: sizes and times of bodies, headers of responses, and the meters."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from http import HTTPStatus

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serving.limits import Limits
from regard.serving.metering import Meters
from regard.serving.refusal import RefusedError

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Expose-Headers": "Authorization",
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Max-Age": "1728000",
}
SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in {**CORS, **SAFE}.items()]


@dataclass
class Phase:
    """Whether the server is stopping: it then finishes what it has and asks clients to leave."""

    stopping: bool = False


def refusal_response(error: RefusedError) -> Response:
    retry = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    closing = {"Connection": "close"} if error.status in _UNREAD else {}
    return JSONResponse({"error": str(error)}, error.status, {**retry, **closing})


_UNREAD = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.REQUEST_TIMEOUT)
"""After these the rest of the body is still under way, so that the connection cannot be kept."""


class Guard:
    """An ASGI application around another one."""

    def __init__(
        self, app: ASGIApp, limits: Limits, meters: Meters, phase: Phase, paths: frozenset[str]
    ) -> None:
        self._app = app
        self._limits = limits
        self._meters = meters
        self._phase = phase
        self._paths = paths  # measured by name; anything else is "other"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.monotonic(), "none"

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
                message = {**message, "headers": [*message.get("headers", []), *self._headers()]}
            await send(message)

        with self._meters.in_flight.track_inprogress():
            try:
                await self._answer(scope, receive, sending)
            finally:
                path = scope["path"] if scope["path"] in self._paths else "other"
                duration = self._meters.duration.labels(path, status)
                duration.observe(time.monotonic() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "OPTIONS":
            await Response(status_code=HTTPStatus.NO_CONTENT)(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # uvicorn sends the headers of an answer without its body
            scope = {**scope, "method": "GET"}
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._limits.body:
            await refusal_response(self._too_large())(scope, receive, send)
            return
        await self._app(scope, self._reading(receive), send)

    def _reading(self, receive: Receive) -> Receive:
        """Reads a body within the limits; afterwards it waits for the client to leave."""
        until, size, complete = time.monotonic() + self._limits.body_seconds, 0, False

        async def reading() -> Message:
            nonlocal size, complete
            if complete:
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
            except asyncio.TimeoutError:
                raise RefusedError(
                    HTTPStatus.REQUEST_TIMEOUT, "The request came too slowly: send it again."
                ) from None
            size += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if size > self._limits.body:
                raise self._too_large()
            return message

        return reading

    def _too_large(self) -> RefusedError:
        return RefusedError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"The request is larger than {self._limits.body:,} bytes: send less at once.",
        )

    def _headers(self) -> list[tuple[bytes, bytes]]:
        return [*_HEADERS, (b"connection", b"close")] if self._phase.stopping else _HEADERS
