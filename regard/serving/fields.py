"""What a request asks: fields of JSON, a form, multipart parts or the query, checked in order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, NoReturn, Optional, Union
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from regard.serving.limits import Limits
from regard.serving.refusal import RefusedError, invalid, missing

MAX_FIELDS = 20
INVALID_JSON = "Invalid JSON format"
_FLAGS = {"true": True, "1": True, "false": False, "0": False, "": False}


class Fields(NamedTuple):
    """The fields by name; only JSON can hold anything but strings."""

    values: Mapping[str, Any]
    is_json: bool

    def text(self, name: str, default: Optional[str] = None) -> str:
        """A field that holds text; required unless there is a default."""
        value = self.values.get(name)
        if value is None or value == "":
            if default is None:
                raise missing(name)
            return default
        if not isinstance(value, str):
            raise invalid(f"{name} parameter is not a string")
        return clean(value)

    def texts(self, name: str) -> Union[str, list[str]]:
        """A text or, in JSON, an array of them."""
        value = self.values.get(name)
        if not isinstance(value, list):
            text = self.text(name)
            return text if self.is_json else text.replace("\r\n", "\n").replace("\r", "\n")
        if not value:
            raise missing(name)
        if not all(isinstance(each, str) for each in value):
            raise invalid(f"{name} parameter is not a list of strings")
        return [clean(each) for each in value]

    def number(self, name: str, most: int) -> int:
        """A count from 0 to `most`; 0 if it is missing."""
        value = self.values.get(name)
        if value is None or value == "":
            return 0
        try:
            number = value if type(value) is int else int(value) if isinstance(value, str) else None
        except ValueError:  # not digits, or thousands of them
            number = None
        if number is None:
            raise invalid(f"{name} parameter is not a number")
        if number < 0:
            raise invalid(f"{name} parameter must be >= 0")
        if number > most:
            raise invalid(f"{name} parameter must be <= {most}")
        return number

    def flag(self, name: str) -> bool:
        """Whether something is wanted; not if it is missing."""
        value = self.values.get(name)
        found = _FLAGS.get("" if value is None else str(value).lower())
        if found is None:
            raise invalid(f"{name} parameter is not true or false")
        return found

    def file(self, name: str) -> UploadFile:
        value = self.values.get(name)
        if not isinstance(value, UploadFile):
            raise missing(name)
        return value

    @property
    def key(self) -> str:
        """The API key, under its name or the one that some clients use instead."""
        return self.text("api_key", "") or self.text("apiKey", "")


async def read_fields(request: Request, limits: Limits) -> Fields:
    """The fields of JSON alone, or else of the query and the form together."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return Fields(_json(await request.body(), limits.json_depth), True)
    values: dict[str, Any] = {}
    try:
        query = _form(request.scope["query_string"])
    except ValueError as error:
        raise invalid("the query string cannot be read") from error
    try:
        if kind == "application/x-www-form-urlencoded":
            values.update(_form(await request.body()))
        elif kind == "multipart/form-data":
            given = {"max_fields": MAX_FIELDS, "max_part_size": limits.body}
            values.update(await request.form(max_files=1, **given))
    except (HTTPException, MultiPartException, ValueError) as error:  # UnicodeError is one
        raise invalid("the form cannot be read") from error
    return Fields({**values, **query}, False)


def _form(body: bytes) -> dict[str, str]:
    """The fields of a form. Clients such as `curl --data` send UTF-8 without encoding it, which
    Starlette would read as Latin-1; and they are counted before any is decoded."""
    text = body.decode("utf-8", errors="replace")
    return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))


def _json(body: bytes, depth: int) -> Mapping[str, Any]:
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not _is_within(value, depth):
        raise RefusedError(HTTPStatus.BAD_REQUEST, INVALID_JSON)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_within(value: Any, depth: int) -> bool:
    """Whether a value is nested no deeper than this."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return depth > 0 and all(_is_within(each, depth - 1) for each in value)


def clean(text: str) -> str:
    """Replaces what is not text, unpaired surrogates and NUL, by the replacement character."""
    whole = text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
    return whole.replace("\x00", "\ufffd")
