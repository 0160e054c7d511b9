"""Translation of files: read, translated like the texts of a request, and kept for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import PurePath
from typing import NamedTuple, TypeVar

from regard.data.detection import MAX_CHARACTERS
from regard.serving.documents import read_document
from regard.serving.documents.base import Document
from regard.serving.fields import Fields
from regard.serving.markup import plain, translate_marked
from regard.serving.refusal import disabled_files, invalid, too_late
from regard.serving.service import Service, too_long
from regard.serving.store import Store

AT_ONCE = 2
"""Documents that are read or written at the same time: each takes memory and a core."""

MAX_PARTS = 2_000
"""Differently formatted parts of a paragraph."""

Result = TypeVar("Result")


class Asked(NamedTuple):
    """What /translate_file is asked."""

    name: str
    data: bytes
    source: str
    target: str
    characters: int  # per paragraph

    @property
    def suffix(self) -> str:
        return PurePath(self.name).suffix.lower()


class Files:
    """Translates files for clients of a service."""

    def __init__(self, service: Service) -> None:
        self.store = Store(service.limits)
        self._service = service
        self._limits = service.limits
        self._places = asyncio.Semaphore(AT_ONCE)

    async def check(self, fields: Fields, client: str) -> Asked:
        """What is asked, before the file is opened."""
        if not self._service.file_formats:
            raise disabled_files()
        allowed = self._service.admit(fields, client)
        file = fields.file("file")
        source, target = fields.text("source"), fields.text("target")
        data = await file.read()
        if not file.filename or not data:
            raise invalid("empty file")
        most = allowed.characters or self._limits.characters
        asked = Asked(file.filename, data, source, target, most)
        if asked.suffix not in self._service.file_formats:
            raise invalid("file format not supported")
        return asked

    async def translate(self, asked: Asked, fields: Fields, client: str) -> str:
        """The key of the translated file."""
        deadline = time.monotonic() + self._limits.deadline
        document = await self._in_turn(lambda: read_document(asked.suffix, asked.data), deadline)
        characters = self._measure(document, asked.characters)
        more = (characters - 1) // asked.characters
        if more > 0:  # one was counted before the file was opened
            self._service.admit(fields, client, more)
        pair = self._service.pair(asked.source, asked.target, lambda: _beginning(document))
        if pair.direction is None or not document.texts:
            written = asked.data
        else:
            texts = await translate_marked(pair.direction, document.texts, deadline)
            written = await self._in_turn(lambda: document.write(texts), deadline)
        self._service.meters.characters.inc(characters)
        path = PurePath(asked.name)
        name = f"{path.stem}_{pair.target}{asked.suffix}"
        return await asyncio.to_thread(self.store.add, name, written)

    def _measure(self, document: Document, most: int) -> int:
        """The characters of a document, within the limits."""
        sizes = [len(plain(text)) for text in document.texts]
        total, longest = sum(sizes), max(sizes, default=0)
        if longest > most:
            raise too_long(longest, most)
        if total > self._limits.file_characters:
            raise too_long(total, self._limits.file_characters)
        if max(map(len, document.texts), default=0) > MAX_PARTS:
            raise invalid("a paragraph has too much formatting")
        return total

    async def _in_turn(self, work: Callable[[], Result], deadline: float) -> Result:
        """Do something in a thread, once it is its turn."""
        try:
            await asyncio.wait_for(self._places.acquire(), max(0.001, deadline - time.monotonic()))
        except asyncio.TimeoutError:
            raise too_late() from None
        running = asyncio.ensure_future(asyncio.to_thread(work))
        running.add_done_callback(lambda done: self._places.release())
        return await asyncio.shield(running)


def _beginning(document: Document) -> str:
    """As much text as a language is detected from."""
    found, size = list[str](), 0
    for text in document.texts:
        if size > MAX_CHARACTERS:
            break
        found.append(plain(text))
        size += len(found[-1])
    return "\n".join(found)
