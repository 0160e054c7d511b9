"""The server's answers: what to do with a request, independent of how it came."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple, Optional, Union

from regard.data.detection import MAX_CHARACTERS
from regard.data.language_names import name_of
from regard.messages import shortened
from regard.serving.detecting import Detected, Detector
from regard.serving.directions import Direction
from regard.serving.documents import formats
from regard.serving.fields import Fields
from regard.serving.guard import Phase
from regard.serving.html import text_of, translate_html
from regard.serving.languages import code_of
from regard.serving.limits import Limits
from regard.serving.metering import Meters
from regard.serving.rates import Allowance, Keys, Rates
from regard.serving.refusal import RefusedError, invalid
from regard.serving.translating import (
    Translation,
    Wanted,
    details,
    sentence_details,
    stream,
    translate,
    unchanged,
)

FORMATS = ("text", "html")

MAX_MARKUP = 10 * MAX_CHARACTERS
"""Characters of markup after which no more is read to find out a language."""


class Pair(NamedTuple):
    """The languages of a request; without a direction they are the same language."""

    source: str
    target: str
    direction: Optional[Direction]
    detected: Optional[Detected]


class Request(NamedTuple):
    """What /translate is asked, checked."""

    texts: Union[str, list[str]]
    pair: Pair
    format: str
    wanted: Wanted
    detailed: bool

    @property
    def listed(self) -> list[str]:
        return [self.texts] if isinstance(self.texts, str) else self.texts


class Service:
    """Directions, limits and keys behind the API."""

    def __init__(
        self,
        directions: Sequence[Direction],
        limits: Limits,
        keys: Optional[Keys] = None,
        key_required: bool = False,
        meters: Optional[Meters] = None,
    ) -> None:
        self.directions = directions
        self.limits = limits
        self.keys = keys
        self.key_required = key_required
        self.phase = Phase()
        self.meters = meters or Meters()
        self._queues = list({id(each.queue): each.queue for each in directions}.values())
        self.meters.watch_queues(self._queues)
        self.file_formats = formats() if limits.file_characters else []
        self._rates = Rates()
        self._by_codes = {(each.source, each.target): each for each in directions}
        codes = dict.fromkeys(code for both in self._by_codes for code in both)
        self._spelling = {code.lower(): code for code in codes}
        self._detector = Detector(list(codes))

    def languages(self) -> list[dict[str, Any]]:
        """Every language with its targets, to which each belongs itself."""
        return [
            {
                "code": source,
                "name": name_of(source),
                "targets": sorted({source, *(t for s, t in self._by_codes if s == source)}),
            }
            for source in self._spelling.values()
        ]

    def settings(self) -> dict[str, Any]:
        """What pages made for LibreTranslate read when they start."""
        target = self.directions[0].target
        return {
            "apiKeys": self.keys is not None,
            "charLimit": self.limits.characters,
            "filesTranslation": bool(self.file_formats),
            "frontendTimeout": 500,
            "keyRequired": self.key_required,
            "language": {
                "source": {"code": "auto", "name": "Auto (Detect)"},
                "target": {"code": target, "name": name_of(target)},
            },
            "suggestions": False,
            "supportedFilesFormat": self.file_formats,
        }

    def admit(self, fields: Fields, client: str, cost: int = 1) -> Allowance:
        """Check the key and the rate of a client, whose request counts as so many texts."""
        key, allowed, name = fields.key, Allowance(), f"address {client}"
        if self.keys is not None and key:
            allowed, name = self.keys.find(key), f"key {key}"
        elif self.key_required:
            raise RefusedError(
                HTTPStatus.BAD_REQUEST, "Please contact the server operator to get an API key"
            )
        self._rates.spend(name, cost, allowed.requests or self.limits.requests)
        return allowed

    def check(self, fields: Fields, client: str) -> Request:
        """What /translate is asked; errors come in the order that clients expect."""
        values = fields.values.get("q")
        allowed = self.admit(fields, client, max(1, len(values)) if type(values) is list else 1)
        texts = fields.texts("q")
        source, target = fields.text("source"), fields.text("target")
        alternatives = fields.number("alternatives", self.limits.alternatives)
        most = allowed.characters or self.limits.characters
        self._check_size(texts, most)
        form = fields.text("format", "text")
        self._code(target)
        if source.lower() != "auto":
            self._code(source)
        if form not in FORMATS:
            raise RefusedError(HTTPStatus.BAD_REQUEST, f"{shortened(form)} format is not supported")
        pair = self.pair(source, target, lambda: _joined(texts, form))
        prefix = fields.text("prefix", "") or None
        if prefix is not None:
            self._check_size(prefix, most)
            if not isinstance(texts, str) or form == "html":
                raise invalid("prefix parameter needs a single text without markup")
        detailed = fields.flag("details")
        wanted = Wanted(alternatives, prefix, aligned=detailed)
        return Request(texts, pair, form, wanted, detailed)

    def _check_size(self, texts: Union[str, list[str]], most: int) -> None:
        listed = [texts] if isinstance(texts, str) else texts
        if len(listed) > self.limits.texts:
            raise too_long(len(listed), self.limits.texts)
        longest = max(map(len, listed))
        if longest > most:
            raise too_long(longest, most)

    def pair(self, source: str, target: str, text: Callable[[], str]) -> Pair:
        """The languages by their codes; `auto` is found from the text, which is read only then."""
        target_code = self._code(target)
        if source.lower() == "auto":
            sources = [s for s, t in self._by_codes if t == target_code]
            if not sources:
                raise RefusedError(HTTPStatus.BAD_REQUEST, f"{shortened(target)} is not supported")
            source_code, detected = self._detector.source(text(), [*sources, target_code])
        else:
            source_code, detected = self._code(source), None
        direction = self._by_codes.get((source_code, target_code))
        if direction is None and source_code != target_code:
            raise RefusedError(
                HTTPStatus.BAD_REQUEST,
                f"{name_of(target_code)} ({target_code}) is not available as a target language "
                f"from {name_of(source_code)} ({source_code})",
            )
        return Pair(source_code, target_code, direction, detected)

    def _code(self, given: str) -> str:
        found = self._spelling.get(code_of(given).lower())
        if found is None:
            raise RefusedError(
                HTTPStatus.BAD_REQUEST, f"{shortened(given.lower())} is not supported"
            )
        return found

    async def translate(self, request: Request) -> dict[str, Any]:
        """The answer to /translate: one value per text, or lists of them for a list."""
        deadline, texts = time.monotonic() + self.limits.deadline, request.listed
        answer: dict[str, list[Any]] = {}
        if request.pair.detected is not None:
            answer["detectedLanguage"] = [request.pair.detected.as_json()] * len(texts)
        if request.format == "html":
            answer["translatedText"] = await self._html(request.pair, texts, deadline)
            if request.wanted.alternatives:
                answer["alternatives"] = [[] for _ in texts]
        else:
            found = await self._text(request.pair, texts, request.wanted, deadline)
            answer |= _texts(found, request)
        self.meters.characters.inc(sum(map(len, texts)))
        if isinstance(request.texts, list):
            return answer
        return {name: values[0] for name, values in answer.items()}

    async def _text(
        self, pair: Pair, texts: list[str], wanted: Wanted, deadline: float
    ) -> list[Translation]:
        if pair.direction is None:
            return [unchanged(text) for text in texts]
        return await translate(pair.direction, texts, wanted, deadline)

    async def _html(self, pair: Pair, texts: list[str], deadline: float) -> list[str]:
        if pair.direction is None:
            return texts
        return await translate_html(pair.direction, texts, deadline)

    async def stream(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        """The translation of one text, part by part; what is asked about a sentence comes with
        it."""
        if not isinstance(request.texts, str) or request.format == "html":
            raise invalid("a stream needs a single text without markup")
        pair = request.pair
        found = {} if pair.detected is None else {"detectedLanguage": pair.detected.as_json()}
        if pair.direction is None:
            yield {"translatedText": request.texts, **found}
            return
        deadline, read, written = time.monotonic() + self.limits.deadline, 0, 0
        async for part in stream(pair.direction, request.texts, request.wanted, deadline):
            if part.sentence is not None:
                if request.detailed:
                    found = {"details": sentence_details(part.sentence, read, written)}
                read += len(part.sentence.source) - len(part.sentence.best.text)
            yield {"translatedText": part.text, **found}
            read, written, found = read + len(part.text), written + len(part.text), {}

    def detect(self, text: str) -> list[dict[str, Any]]:
        return [each.as_json() for each in self._detector.rank(text)]

    def close(self) -> None:
        """Finish what is in the queues."""
        for queue in self._queues:
            queue.close()


def _texts(found: Sequence[Translation], request: Request) -> dict[str, list[Any]]:
    """The translations and whatever else was asked about them."""
    answer: dict[str, list[Any]] = {"translatedText": [each.text for each in found]}
    if request.wanted.alternatives:
        answer["alternatives"] = [each.alternatives(request.wanted.alternatives) for each in found]
    if request.detailed:
        answer["details"] = [details(each) for each in found]
    return answer


def _joined(texts: Union[str, list[str]], form: str) -> str:
    """What a language is detected from: the beginning of all texts, without markup. Other requests
    wait meanwhile, so that no more is read than is needed."""
    listed = [texts] if isinstance(texts, str) else texts
    found, size, read = list[str](), 0, 0
    for text in listed:
        if size > MAX_CHARACTERS or read > MAX_MARKUP:
            break
        found.append(text_of(text) if form == "html" else text)
        size, read = size + len(found[-1]), read + len(text)
    return "\n".join(found)


def too_long(size: int, limit: int) -> RefusedError:
    return invalid(f"request ({size}) exceeds text limit ({limit})")
