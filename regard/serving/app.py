"""The HTTP API of LibreTranslate, and what goes beyond it, as a FastAPI application."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from hmac import compare_digest
from pathlib import PurePath
from typing import Any, Optional, TypeVar
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from regard import __version__
from regard.errors import UsageError
from regard.serving import spec
from regard.serving.documents import MEDIA_TYPES
from regard.serving.fields import Fields, read_fields
from regard.serving.files import Files
from regard.serving.guard import Guard, refusal_response
from regard.serving.page import check_look, look_response, page_response, sorry_response
from regard.serving.refusal import RefusedError, invalid
from regard.serving.service import Service

Result = TypeVar("Result")
log = logging.getLogger("regard.serving")
SWEEP_SECONDS = 30.0


def build_app(service: Service, metrics_token: Optional[str] = None) -> ASGIApp:
    """The whole application, with its guard around it."""

    files = Files(service)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        sweeping = asyncio.ensure_future(_sweep(files))
        yield
        sweeping.cancel()
        await asyncio.to_thread(service.close)
        await asyncio.to_thread(files.store.close)

    app = FastAPI(
        title="regard",
        version=__version__,
        openapi_url="/spec",
        default_response_class=Response,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    _add_errors(app)
    _add_translation(app, service)
    _add_files(app, service, files)
    _add_disabled(app)
    _add_pages(app, service)
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
        return JSONResponse({"error": "Internal error: see the log of the server."}, 500)

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

    @app.post(
        "/translate",
        openapi_extra=spec.fields(spec.TextFields, listed="q"),
        responses=spec.answers(spec.Translated, "The translation of each text."),
    )
    async def translate(request: Request) -> Response:
        checked = service.check(await asked(request), _client(request))
        return JSONResponse(await _unless_gone(request, service.translate(checked)))

    @app.post(
        "/translate_stream",
        openapi_extra=spec.fields(spec.StreamFields),
        responses=spec.other("application/x-ndjson", "One JSON object per line."),
    )
    async def translate_stream(request: Request) -> Response:
        checked = service.check(await asked(request), _client(request))
        parts = service.stream(checked)
        first = await anext(parts)  # refusals come before the first part
        return StreamingResponse(_lines(first, parts), media_type="application/x-ndjson")

    @app.post(
        "/detect",
        openapi_extra=spec.fields(spec.DetectFields),
        responses=spec.answers(list[spec.Detection], "Languages, the most probable one first."),
    )
    async def detect(request: Request) -> Response:
        fields = await asked(request)
        allowed = service.admit(fields, _client(request))
        text, most = fields.text("q"), allowed.characters or service.limits.characters
        if len(text) > most:
            raise invalid(f"request ({len(text)}) exceeds text limit ({most})")
        return JSONResponse(service.detect(text))


def _add_files(app: FastAPI, service: Service, files: Files) -> None:
    @app.post(
        "/translate_file",
        openapi_extra=spec.fields(spec.FileFields, (spec.MULTIPART,)),
        responses=spec.answers(spec.TranslatedFile, "Where the translated file is."),
    )
    async def translate_file(request: Request) -> Response:
        fields, client = await read_fields(request, service.limits), _client(request)
        asked = await files.check(fields, client)
        key = await _unless_gone(request, files.translate(asked, fields, client))
        url = request.url_for("download_file", key=key)
        return JSONResponse({"translatedFileUrl": str(url)})

    @app.get(
        "/download_file/{key}",
        responses={
            200: {"description": "The file.", "content": {"application/octet-stream": {}}},
            404: {"model": spec.Refusal, "description": "There is no such file."},
        },
    )
    async def download_file(key: str) -> Response:
        found = await asyncio.to_thread(files.store.find, key)
        if found is None:
            raise HTTPException(404, "There is no such file, or it has expired.")
        name, data = found
        kind = MEDIA_TYPES.get(PurePath(name).suffix, "application/octet-stream")
        disposition = f"attachment; filename*=UTF-8''{quote(name)}"
        headers = {"Content-Disposition": disposition, "Content-Security-Policy": "sandbox"}
        return Response(data, media_type=kind, headers=headers)


async def _sweep(files: Files) -> None:
    """Remove old files even if nobody asks for any."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        await asyncio.to_thread(files.store.sweep)


async def _lines(first: dict[str, Any], parts: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    """One JSON object per line."""
    yield _line(first)
    try:
        async for part in parts:
            yield _line(part)
    except (RefusedError, UsageError) as error:
        yield _line({"error": str(error)})


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _add_disabled(app: FastAPI) -> None:
    """What LibreTranslate has and this server does not: clients are told in its words."""

    @app.post(
        "/suggest",
        status_code=403,
        responses={403: {"model": spec.Refusal, "description": "Suggestions are disabled."}},
    )
    async def suggest() -> Response:
        return JSONResponse({"error": "Suggestions are disabled on this server."}, 403)


def _add_pages(app: FastAPI, service: Service) -> None:
    start = page_response()

    @app.get("/", response_class=HTMLResponse)
    async def page() -> Response:
        return start

    @app.post(
        "/look",
        openapi_extra=spec.fields(spec.LookFields),
        responses=spec.page("A page."),
    )
    async def look(request: Request) -> Response:
        try:
            fields = await read_fields(request, service.limits)
            asked = check_look(service, fields, _client(request))
            return await _unless_gone(request, look_response(asked, service.limits.deadline))
        except (RefusedError, UsageError) as error:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            return sorry_response(error)


def _add_information(app: FastAPI, service: Service, metrics_token: Optional[str]) -> None:
    @app.get("/languages", responses=spec.information(list[spec.Language], "What is served."))
    async def languages() -> Response:
        return JSONResponse(service.languages())

    @app.get("/frontend/settings", responses=spec.information(dict[str, Any], "For pages."))
    async def settings() -> Response:
        return JSONResponse(service.settings())

    @app.get("/health", responses=spec.information(spec.Status, "The server runs."))
    async def health() -> Response:
        return JSONResponse({"status": "ok"})

    @app.get(
        "/ready",
        responses={
            **spec.information(spec.Status, "The server takes requests."),
            503: {"model": spec.Status, "description": "The server is stopping."},
        },
    )
    async def ready() -> Response:
        if service.phase.stopping:
            return JSONResponse({"status": "stopping"}, 503)
        return JSONResponse({"status": "ready"})

    @app.get(
        "/metrics",
        responses={
            200: {"description": "For Prometheus.", "content": {"text/plain": {}}},
            401: {"model": spec.Refusal, "description": "The token is missing or wrong."},
        },
    )
    async def metrics(request: Request) -> Response:
        given = request.headers.get("authorization", "").encode()
        wanted = given if metrics_token is None else f"Bearer {metrics_token}".encode()
        if not compare_digest(given, wanted):
            return JSONResponse({"error": "Unauthorized"}, 401)
        return Response(service.meters.text(), media_type="text/plain; version=0.0.4")
