"""The HTTP API of LibreTranslate, and what goes beyond it, as a FastAPI application."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Optional, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from regard import __version__
from regard.errors import UsageError
from regard.serving.fields import Fields, read_fields
from regard.serving.guard import Guard, refusal_response
from regard.serving.refusal import RefusedError, invalid
from regard.serving.service import Service

Result = TypeVar("Result")
log = logging.getLogger("regard.serving")


def build_app(service: Service, metrics_token: Optional[str] = None) -> ASGIApp:
    """The whole application, with its guard around it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="regard",
        version=__version__,
        openapi_url="/spec",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    _add_errors(app)
    _add_translation(app, service)
    _add_disabled(app)
    _add_information(app, service, metrics_token)
    paths = frozenset(app.openapi()["paths"])
    return Guard(app, service.limits, service.meters, service.phase, paths)


def _add_errors(app: FastAPI) -> None:
    async def refused(request: Request, error: RefusedError) -> Response:
        return refusal_response(error)

    async def unusable(request: Request, error: UsageError) -> Response:
        return JSONResponse({"error": str(error)}, 400)

    async def other(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

    async def broken(request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return JSONResponse({"error": "The server failed: see its log."}, 500)

    handlers: dict[Any, Callable[[Request, Any], Awaitable[Response]]] = {
        RefusedError: refused,
        UsageError: unusable,
        HTTPException: other,
        Exception: broken,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


async def _unless_gone(request: Request, work: Awaitable[Result]) -> Result:
    """The result of some work, which is cancelled if the client leaves."""
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_until_gone(request))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            raise RefusedError(499, "The client has left.")  # type: ignore[arg-type]
        return task.result()
    finally:
        leaving.cancel()
        task.cancel()


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _client(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def _add_translation(app: FastAPI, service: Service) -> None:
    async def asked(request: Request) -> Fields:
        return await read_fields(request, service.limits)

    @app.post("/translate")
    async def translate(request: Request) -> Response:
        checked = service.check(await asked(request), _client(request))
        return JSONResponse(await _unless_gone(request, service.translate(checked)))

    @app.post("/translate_stream")
    async def translate_stream(request: Request) -> Response:
        checked = service.check(await asked(request), _client(request))
        parts = service.stream(checked)
        first = await anext(parts)  # refusals come before the first part
        return StreamingResponse(_lines(first, parts), media_type="application/x-ndjson")

    @app.post("/detect")
    async def detect(request: Request) -> Response:
        fields = await asked(request)
        allowed = service.admit(fields, _client(request))
        text, most = fields.text("q"), allowed.characters or service.limits.characters
        if len(text) > most:
            raise invalid(f"request ({len(text)}) exceeds text limit ({most})")
        return JSONResponse(service.detect(text))


async def _lines(first: str, parts: AsyncIterator[str]) -> AsyncIterator[str]:
    """One JSON object per line."""
    yield _line({"translatedText": first})
    try:
        async for part in parts:
            yield _line({"translatedText": part})
    except (RefusedError, UsageError) as error:
        yield _line({"error": str(error)})


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _add_disabled(app: FastAPI) -> None:
    """What LibreTranslate has and this server does not: clients are told in its words."""

    @app.post("/suggest")
    async def suggest() -> Response:
        return JSONResponse({"error": "Suggestions are disabled on this server."}, 403)

    @app.post("/translate_file")
    async def translate_file() -> Response:
        return JSONResponse({"error": "Files translation are disabled on this server."}, 403)


def _add_information(app: FastAPI, service: Service, metrics_token: Optional[str]) -> None:
    @app.get("/languages")
    async def languages() -> Response:
        return JSONResponse(service.languages())

    @app.get("/frontend/settings")
    async def settings() -> Response:
        return JSONResponse(service.settings())

    @app.get("/health")
    async def health() -> Response:
        return JSONResponse({"status": "ok"})

    @app.get("/ready")
    async def ready() -> Response:
        if service.phase.stopping:
            return JSONResponse({"status": "stopping"}, 503)
        return JSONResponse({"status": "ready"})

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if metrics_token is not None and given != f"Bearer {metrics_token}":
            return JSONResponse({"error": "Unauthorized"}, 401)
        return Response(service.meters.text(), media_type="text/plain; version=0.0.4")
