"""JSON lines: an object on each line, two texts of which are source and target."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Optional

from regard.data.formats.base import Columns, Format, Record, languages_at, listed, not_two
from regard.data.languages import Languages
from regard.data.text import Bad, Content, text_lines, usable
from regard.errors import UsageError
from regard.messages import counted

_HALF = re.compile("[\ud800-\udfff]")


class JsonLines(Format):
    """Keys are nested by dots: `translation.en` is the text of "en" in the object "translation"."""

    def records(self, stream: io.BufferedReader) -> Iterator[Record]:
        columns = self.columns
        for number, line in enumerate(text_lines(self.reading, stream), 1):
            if isinstance(line, Bad) or not line.strip():
                bad = line if isinstance(line, Bad) else Bad.EMPTY
                yield Record(number, bad, bad)
                continue
            where = self.reading.at(number)
            found = _parse(line, where)
            columns = columns or self._two_texts(found, where)
            source, target = (self._side(found, key, where) for key in columns.sides)
            yield Record(number, source, target, self._languages(found, columns, where))

    def _two_texts(self, found: Mapping[str, Any], where: str) -> Columns:
        """Without a choice: the only two texts of the first object, in their order."""
        keys = list(_texts(found))
        if len(keys) != 2:
            raise not_two(where, counted(len(keys), "text"), keys)
        self.reading.note(
            f"Read {keys[0]} as the source and {keys[1]} as the target of {self.reading.path}."
        )
        return Columns(*keys)

    def _languages(
        self, found: Mapping[str, Any], columns: Columns, where: str
    ) -> Optional[Languages]:
        if not columns.has_languages:
            return None
        keys = (columns.source_language, columns.target_language)
        source, target = (self._side(found, key, where) for key in keys)
        for key, text in zip(keys, (source, target), strict=True):
            if isinstance(text, Bad):
                raise UsageError(f"{where} has no language as its '{key}': give a tag such as en.")
        return languages_at(where, str(source), str(target))

    def _side(self, found: Mapping[str, Any], key: str, where: str) -> Content:
        try:
            value = _value(found, key)
        except LookupError:
            raise UsageError(
                f"{where} has no key '{key}': its texts are {listed(list(_texts(found)))}; choose "
                "two of them with --columns."
            ) from None
        if value is None:
            return Bad.MISSING
        if not isinstance(value, str):
            raise UsageError(f"{where} has no text as its '{key}': give a string.")
        return Bad.SURROGATE if _HALF.search(value) else usable(self.joined(value))


def _parse(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{where} is not valid JSON ({str(error)[:80]}): write one object per line."
        ) from None
    if not isinstance(found, dict):
        raise UsageError(f"{where} is not a JSON object: write one object per line.")
    return found


def _value(found: Mapping[str, Any], key: str) -> Any:
    """The value of a key, or of keys in keys with dots between them."""
    if key in found:
        return found[key]
    outer, _, rest = key.partition(".")
    inner = found[outer]
    if not rest or not isinstance(inner, dict):
        raise LookupError(key)
    return _value(inner, rest)


def _texts(found: Mapping[str, Any], prefix: Optional[str] = None) -> Iterator[str]:
    """The keys of all texts."""
    for key, value in found.items():
        name = key if prefix is None else f"{prefix}.{key}"
        if isinstance(value, str):
            yield name
        elif isinstance(value, dict):
            yield from _texts(value, name)
