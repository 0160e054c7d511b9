"""What /spec says about each route: its fields, its answers and its refusals.

Fields are read from JSON, a form, multipart parts or the query, in the order of the API that
clients know; so these models describe requests, and `regard.serving.fields` reads them.
"""

from __future__ import annotations

from typing import Any, Literal, Optional, Union

from pydantic import BaseModel, ConfigDict, Field


class Described(BaseModel):
    """Other fields may come with those that are described."""

    model_config = ConfigDict(extra="allow")


class DetectFields(Described):
    q: str = Field(min_length=1)
    api_key: str = ""


class TextFields(Described):
    q: Union[str, list[str]] = Field(description="A text or, in JSON, a list of texts.")
    source: str = Field(description="A code of /languages, or auto.", examples=["en"])
    target: str = Field(examples=["de"])
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(default=0, ge=0)
    details: bool = Field(default=False, description="Also return scores and aligned words.")
    prefix: str = Field(default="", description="What the translation must begin with.")
    api_key: str = ""


class FileFields(Described):
    file: str = Field(json_schema_extra={"format": "binary"})
    source: str = Field(examples=["en"])
    target: str = Field(examples=["de"])
    api_key: str = ""


class Refusal(BaseModel):
    error: str


class Detection(BaseModel):
    confidence: float = Field(ge=0, le=100)
    language: str


class Translated(Described):
    translatedText: Union[str, list[str]]  # noqa: N815
    detectedLanguage: Optional[Union[Detection, list[Detection]]] = None  # noqa: N815
    alternatives: Optional[Union[list[str], list[list[str]]]] = None
    details: Optional[Union[dict[str, Any], list[dict[str, Any]]]] = None


class TranslatedFile(BaseModel):
    translatedFileUrl: str  # noqa: N815


class Language(BaseModel):
    code: str
    name: str
    targets: list[str]


class Status(BaseModel):
    status: str


JSON, FORM, MULTIPART = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)
_REFUSALS = {
    400: "The request is invalid.",
    403: "The key is invalid, or the feature is disabled.",
    408: "The request came too slowly.",
    413: "The request is too large.",
    429: "Too many texts in one minute.",
    503: "The server is busy or stopping.",
    504: "The deadline has passed.",
}


def body(
    fields: type[BaseModel], kinds: tuple[str, ...] = (JSON, FORM, MULTIPART)
) -> dict[str, Any]:
    """The description of a request body, for `openapi_extra`."""
    schema = fields.model_json_schema()
    content = {kind: {"schema": schema} for kind in kinds}
    return {"requestBody": {"required": True, "content": content}}


def answers(model: Any, description: str) -> dict[int | str, dict[str, Any]]:
    """A good answer and all the refusals, for `responses`."""
    refused: dict[int | str, dict[str, Any]] = {
        status: {"model": Refusal, "description": text} for status, text in _REFUSALS.items()
    }
    return {200: {"model": model, "description": description}, **refused}


def information(model: Any, description: str) -> dict[int | str, dict[str, Any]]:
    """The answer of a route that asks for nothing."""
    return {200: {"model": model, "description": description}}


def other(kind: str, description: str) -> dict[int | str, dict[str, Any]]:
    """A good answer that is not JSON, and all the refusals."""
    refused = {each: value for each, value in answers(str, "").items() if each != 200}
    return {200: {"description": description, "content": {kind: {}}}, **refused}
