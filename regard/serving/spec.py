"""What /spec says about each route: its fields, its answers and its refusals.

Fields are read from JSON, a form, multipart parts or the query, in the order of the API that
clients know; so these models describe requests, and `regard.serving.fields` reads them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional, Union

from pydantic import BaseModel, ConfigDict, Field


class Described(BaseModel):
    """Other fields may come with those that are described."""

    model_config = ConfigDict(extra="allow")


Source = Annotated[str, Field(description="A code of /languages, or auto.", examples=["en"])]
Target = Annotated[str, Field(description="A code of /languages.", examples=["de"])]
Text = Annotated[str, Field(min_length=1, examples=["A dog runs."])]
Prefix = Annotated[str, Field(description="What the translation must begin with.")]
Detailed = Annotated[bool, Field(description="Also return scores and aligned words.")]
Key = Annotated[str, Field(description="Needed only where the server asks for one.")]


class DetectFields(Described):
    q: Text
    api_key: Key = ""


class TextFields(Described):
    q: Text
    source: Source
    target: Target
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(default=0, ge=0, description="How many others to return, at most.")
    details: Detailed = False
    prefix: Prefix = ""
    api_key: Key = ""


class StreamFields(Described):
    q: Text
    source: Source
    target: Target
    format: Literal["text"] = "text"
    details: Detailed = False
    prefix: Prefix = ""
    api_key: Key = ""


class LookFields(Described):
    q: Text
    source: Source
    target: Target
    translation: str = Field(
        default="", description="What to look at, instead of what begins with the prefix."
    )
    prefix: Prefix = ""
    api_key: Key = ""


class FileFields(Described):
    file: str = Field(json_schema_extra={"format": "binary"})
    source: Source
    target: Target
    api_key: Key = ""


class Refusal(BaseModel):
    error: str


class Detection(BaseModel):
    confidence: float = Field(ge=0, le=100)
    language: str


Range = Annotated[list[int], Field(min_length=2, max_length=2)]


class SentenceDetails(BaseModel):
    source: Range = Field(description="Where it begins and ends in the text, in characters.")
    target: Range
    score: float
    alignment: list[Annotated[list[int], Field(min_length=4, max_length=4)]] = Field(
        description="Pairs of words: where the source word and the target word begin and end."
    )


class Details(BaseModel):
    score: float = Field(description="The mean log-probability of the tokens.")
    sentences: list[SentenceDetails]


class Translated(Described):
    translatedText: Union[str, list[str]]  # noqa: N815
    detectedLanguage: Optional[Union[Detection, list[Detection]]] = None  # noqa: N815
    alternatives: Optional[Union[list[str], list[list[str]]]] = None
    details: Optional[Union[Details, list[Details]]] = None


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


IN_QUERY = "May be given here instead of in the body, unless that is JSON."


def fields(
    model: type[BaseModel], kinds: tuple[str, ...] = (JSON, FORM, MULTIPART), listed: str = ""
) -> dict[str, Any]:
    """The description of what a request says, for `openapi_extra`: in its body or, unless it is a
    file, in the query. One field may be a list in JSON."""
    schema = model.model_json_schema()
    described = schema["properties"]
    content = {kind: {"schema": schema} for kind in kinds}
    if listed:
        items = {"type": "array", "items": {"type": "string"}, "minItems": 1}
        either = {"anyOf": [described[listed], items]}
        content[JSON] = {"schema": {**schema, "properties": {**described, listed: either}}}
    is_file = {name: each.get("format") == "binary" for name, each in described.items()}
    query = [
        {"name": name, "in": "query", "description": IN_QUERY, "required": False, "schema": each}
        for name, each in described.items()
        if not is_file[name]
    ]
    body = {"required": any(is_file.values()), "content": content}
    return {"parameters": query, "requestBody": body}


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


def page(description: str) -> dict[int | str, dict[str, Any]]:
    """An answer for a browser, which is told of refusals by a page too; other clients get JSON."""
    found = other("text/html", description)
    return {each: {**value, "content": {"text/html": {}}} for each, value in found.items()}
