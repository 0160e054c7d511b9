"""Why a request is not answered: a status, one sentence, and when to try again."""

from __future__ import annotations

from http import HTTPStatus
from typing import Optional


class RefusedError(Exception):
    """Ends a request; the client is sent `{"error": text}`."""

    def __init__(self, status: HTTPStatus, text: str, retry_after: Optional[int] = None) -> None:
        super().__init__(text)
        self.status = status
        self.retry_after = retry_after


def invalid(text: str) -> RefusedError:
    return RefusedError(HTTPStatus.BAD_REQUEST, f"Invalid request: {text}")


def missing(name: str) -> RefusedError:
    return invalid(f"missing {name} parameter")


def busy() -> RefusedError:
    return RefusedError(
        HTTPStatus.SERVICE_UNAVAILABLE, "The server is busy: try again in a moment.", 1
    )


def too_late() -> RefusedError:
    return RefusedError(
        HTTPStatus.GATEWAY_TIMEOUT, "This took too long and was cancelled: send less text."
    )


def disabled_files() -> RefusedError:
    return RefusedError(HTTPStatus.FORBIDDEN, "Files translation are disabled on this server.")
