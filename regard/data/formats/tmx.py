"""TMX, translation memories: units of which each has a text in several languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from regard.data.formats.base import Columns, Record, listed
from regard.data.formats.markup import Markup, is_language, plain_tag
from regard.data.reading import Reading
from regard.data.text import Bad, Content, usable
from regard.errors import UsageError

_MAX_LANGUAGES = 100


class Tmx(Markup):
    """Languages are chosen by their tags.

    Without a choice they are the two of the first unit that has two, and the language that the
    header calls the source is the source; a third language is then refused.
    """

    def __init__(self, reading: Reading, columns: Optional[Columns]) -> None:
        super().__init__(reading, columns)
        self._chosen = columns
        self._declared = ""  # the source language by the header
        self._line = 0
        self._language = ""
        self._texts = dict[str, str]()  # of the current unit, by tag
        self._complete = 0

    def opened(self, name: str, attributes: Mapping[str, str]) -> bool:
        if name == "header":
            self._declared = attributes.get("srclang", "")
        elif name == "tu":
            self._line, self._texts = self.line, {}
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
        return name == "seg" and self.parent == "tuv"

    def side(self, name: str, text: str) -> None:
        self._texts.setdefault(self._language, text)
        if len(self.languages) < _MAX_LANGUAGES:
            self.languages[self._language] = None

    def closed(self, name: str) -> None:
        if name != "tu":
            return
        if self.columns is None:
            self._choose()
        source = self._side(self._chosen.source) if self._chosen else Bad.MISSING
        target = self._side(self._chosen.target) if self._chosen else Bad.MISSING
        self._complete += Bad.MISSING not in (source, target)
        self.found.append(Record(self._line, source, target))

    def _side(self, asked: str) -> Content:
        """The text in a language; the very tag goes before one of a region."""
        tags = [tag for tag in self._texts if is_language(asked, tag)]
        exact = [tag for tag in tags if plain_tag(tag) == plain_tag(asked)]
        return usable(self._texts[(exact or tags)[0]]) if tags else Bad.MISSING

    def _choose(self) -> None:
        """Take the languages of the first unit that has two, and refuse a third."""
        if self._chosen is None and len(self._texts) >= 2:
            tags = list(self._texts)
            declared = [tag for tag in tags if _related(self._declared, tag)]
            source = (declared or tags)[0]
            target = next(tag for tag in tags if tag != source)
            self.note_languages(source, target)
            if plain_tag(source).split("-")[0] != plain_tag(target).split("-")[0]:
                source, target = source.split("-")[0], target.split("-")[0]
            self._chosen = Columns(source, target)
        if self._chosen is None:
            return
        for tag in self._texts:
            if not any(is_language(each, tag) for each in self._chosen.sides):
                raise UsageError(
                    f"{self.reading.at(self._line)} has {tag or 'no language'} beside "
                    f"{self._chosen.source} and {self._chosen.target}: choose two languages, such "
                    f"as --columns {self._chosen}."
                )

    def finish(self) -> None:
        if not self._complete:
            wanted = " and ".join(self._chosen.sides) if self._chosen else "two languages"
            raise UsageError(
                f"{self.reading.path} has no unit in {wanted}: its languages are "
                f"{listed(sorted(self.languages)) or 'none'}."
            )


def _related(declared: str, tag: str) -> bool:
    return bool(declared) and (is_language(declared, tag) or is_language(tag, declared))
