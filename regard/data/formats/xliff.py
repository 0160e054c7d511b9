"""XLIFF 1.2 and 2.0, documents being translated: segments with a source and perhaps a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from regard.data.formats.base import Columns, Record, listed
from regard.data.formats.markup import Markup, is_language
from regard.data.reading import Reading
from regard.data.text import Bad, usable
from regard.errors import UsageError

_UNITS = ("trans-unit", "segment")  # of version 1.2 and of version 2.0


class Xliff(Markup):
    """Source and target are as the file says, or the other way round if their languages are asked
    for so. Suggestions (alt-trans, matches) are not read."""

    def __init__(self, reading: Reading, columns: Optional[Columns]) -> None:
        super().__init__(reading, columns)
        self._source, self._target = "", ""  # languages
        self._line = 0
        self._texts = dict[str, str]()  # of the current unit, by element
        self._complete = 0

    def opened(self, name: str, attributes: Mapping[str, str]) -> bool:
        if name == "xliff":
            self._source = attributes.get("srcLang", "")
            self._target = attributes.get("trgLang", "")
        elif name == "file":
            self._source = attributes.get("source-language", self._source)
            self._target = attributes.get("target-language", self._target)
        elif name in _UNITS:
            self._line, self._texts = self.line, {}
        return name in ("source", "target") and self.parent in _UNITS

    def side(self, name: str, text: str) -> None:
        self._texts[name] = text

    def closed(self, name: str) -> None:
        if name not in _UNITS or not self._texts:
            return
        self.languages[self._source] = self.languages[self._target] = None
        source, target = (
            usable(self._texts[side]) if side in self._texts else Bad.MISSING
            for side in self._order()
        )
        self._complete += Bad.MISSING not in (source, target)
        self.found.append(Record(self._line, source, target))

    def _order(self) -> tuple[str, str]:
        """The elements that are source and target; none if the languages are not those asked
        for."""
        if self.columns is None:
            if self._source or self._target:
                self.note_languages(self._source or "?", self._target or "?")
            return "source", "target"
        if self._fits(self.columns.source, self.columns.target):
            return "source", "target"
        if self._fits(self.columns.target, self.columns.source):
            return "target", "source"
        return "", ""

    def _fits(self, source: str, target: str) -> bool:
        """A target language that the file does not name may be any."""
        return is_language(source, self._source) and (
            not self._target or is_language(target, self._target)
        )

    def finish(self) -> None:
        if not self._complete:
            names = [name for name in self.languages if name]
            wanted = f"in {' and '.join(self.columns.sides)}" if self.columns else "with a target"
            raise UsageError(
                f"{self.reading.path} has no segment {wanted}: its languages are "
                f"{listed(sorted(names)) or 'none'}."
            )
